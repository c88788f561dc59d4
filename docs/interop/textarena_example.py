"""TextArena: this game as one of its two-player environments, played by two scripted agents.

Run it with `python docs/interop/textarena_example.py`, in an environment with textarena 0.7.4.
"""

from __future__ import annotations

from typing import Any

import textarena as ta

from german_whist import german_whist_v0, legal_text

AGENTS = ("player_0", "player_1")


class GermanWhist(ta.Env):
    """The AEC environment in words, for TextArena."""

    def __init__(self, rules: str = "classic", retries: int = 2) -> None:
        self.env = german_whist_v0.env(rules, observation="text", retries=retries, reward="win")

    def reset(self, num_players: int = 2, seed: int | None = None) -> None:
        """Deal; with a seed its first deal."""
        self.state = ta.TwoPlayerState(num_players=num_players, seed=seed)
        self.state.reset(game_state={})
        self.env.reset(seed=seed)
        self._show()

    def _show(self) -> None:
        """Give the agent to move what it may know."""
        agent = self.env.agent_selection
        self.state.current_player_id = AGENTS.index(agent)
        text = self.env.observe(agent)["observation"]
        board = ta.ObservationType.GAME_BOARD
        self.state.add_observation(str(text), board, to_id=self.state.current_player_id)

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play an answer; one that names no legal action is refused, and then loses."""
        mover = self.state.current_player_id
        self.env.step(action)
        self.state.turn += 1
        if any(self.env.terminations.values()):
            rewards = [self.env.unwrapped.episode_return(agent) for agent in AGENTS]
            lost_by_answer = any(self.env.truncations.values())
            reason = "an answer named no legal card" if lost_by_answer else "most tricks"
            if lost_by_answer:
                self.state.set_winner(1 - mover, reason)
            elif rewards[0] == rewards[1]:
                self.state.set_draw(reason)
            else:
                self.state.set_winner(int(rewards[1] > rewards[0]), reason)
        else:
            self._show()
        return self.state.done, {"refused": self.env.infos[AGENTS[mover]].get("refused", "")}


ta.register(id="GermanWhistExact-v0", entry_point=GermanWhist)


def first_legal(observation: list[tuple[int, str, Any]]) -> str:
    """A scripted agent: the first legal card of the last message."""
    return "[" + observation[-1][1].rpartition("Legal: ")[2].split(", ")[0].rstrip(".") + "]"


def main() -> None:
    """Play a hand, with one answer that is refused."""
    env = ta.make("GermanWhistExact-v0", rules="small-last")
    env.reset(num_players=2, seed=1)
    done, refused = env.step("I would rather not say")
    assert not done
    print(refused["refused"])
    while not done:
        player, observation = env.get_observation()
        assert legal_text(env.env.unwrapped.view(AGENTS[player]).legal()) in observation[-1][1]
        done, _ = env.step(first_legal(observation))
    rewards, info = env.close()
    assert sorted(rewards.values()) in ([-1, 1], [0, 0])
    print(rewards, info[0]["reason"])


if __name__ == "__main__":
    main()
