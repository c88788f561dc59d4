"""OpenEnv: the game in words behind OpenEnv's server.

`python docs/interop/openenv_example.py` plays a hand through the application, without a network;
`uvicorn openenv_example:app` serves it from this folder. Needs openenv 0.10.0.
"""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient
from openenv.core.env_server import Action, Environment, Observation, State
from openenv.core.env_server.http_server import create_fastapi_app

from german_whist.envs import GermanWhistEnv


class Answer(Action):
    """An answer in words."""

    answer: str


class Position(Observation):
    """What the learner knows, in words."""

    text: str
    refused: str = ""


class GermanWhistServer(Environment[Answer, Position, State]):
    """One game against an agent; many sessions play at once."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, rules: str = "classic", opponent: str = "threshold") -> None:
        super().__init__()
        self._env = GermanWhistEnv(rules, opponent=opponent, observation="text", reward="win")
        self._state = State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any
    ) -> Position:
        """Deal; with a seed its first deal."""
        self._state = State(episode_id=episode_id)
        return Position(text=str(self._env.reset(seed=seed)[0]))

    def step(self, action: Answer, timeout_s: float | None = None, **kwargs: Any) -> Position:
        """Play an answer, or refuse it with a sentence."""
        self._state.step_count += 1
        text, reward, done, _, info = self._env.step(action.answer)
        refused = info.get("refused", "")
        return Position(text=str(text), reward=reward, done=done, refused=refused)

    @property
    def state(self) -> State:
        """The episode's name and its number of steps."""
        return self._state


app = create_fastapi_app(GermanWhistServer, Answer, Position)


def main() -> None:
    """Play a hand of the first legal cards, as a server's session does."""
    with TestClient(app) as client, client.websocket_connect("/ws") as session:
        session.send_json({"type": "reset", "data": {"seed": 1}})
        observation, steps = session.receive_json()["data"], 0
        while not observation["done"]:
            text = observation["observation"]["text"]
            answer = text.rpartition("Legal: ")[2].split(", ")[0].rstrip(".")
            session.send_json({"type": "step", "data": {"answer": f"I play [{answer}]."}})
            observation, steps = session.receive_json()["data"], steps + 1
        print(f"{steps} steps, reward {observation['reward']}")
        assert steps == 26


if __name__ == "__main__":
    main()
