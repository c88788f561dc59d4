"""One iteration of the trainer, number by number beside a second one written from the formulas.

What was played is taken from the trainer's buffers; what is learnt from it is computed here with
NumPy alone: advantages of each seat, their normalisation, the clipped loss with entropy, pull and
critic, its gradient by hand, clipping of the gradient, Adam, the average, and the annealing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from german_whist.agents.base import Agent
from german_whist.agents.registry import make_agent
from german_whist.training.network import weights_of
from german_whist.training.ppo import PPO
from german_whist.training.ppo_settings import PPOSettings

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]

TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2, "counts": "all"}
# All four tricks may be won, and rewards are learnt from in units of four tenths of the most.
UNIT = 0.4 * 4
SETTINGS: dict[str, Any] = {
    "rules": TINY,
    "horizon": "hand",
    "reward": "margin",
    "games": 12,
    "layers": (7, 5),
    "minibatch": 24,
    "epochs": 2,
    "decisions": 1000,
    "learning_rate": 0.05,
    "learning_rate_end": 0.01,
    "entropy": 0.3,
    "entropy_end": 0.1,
    "clip": 0.05,
    "discount": 0.9,
    "trace": 0.7,
    "value_weight": 0.8,
    "most_gradient": 0.1,
    "average": 0.9,
    "pull": 0.5,
    "seed": 5,
}


def settings(**changes: Any) -> PPOSettings:
    return PPOSettings(**{**SETTINGS, **changes})


# -- the second trainer


class Plain:
    """The same learning in NumPy, in float64."""

    def __init__(self, trainer: PPO) -> None:
        self.settings = trainer.settings
        self.weights = doubled(weights_of(trainer.network))
        self.average = doubled(weights_of(trainer.average))
        self.first = {name: np.zeros_like(each) for name, each in self.weights.items()}
        self.second = {name: np.zeros_like(each) for name, each in self.weights.items()}
        self.count = 0

    def forward(self, weights: Weights, x: Array, hidden: Array) -> dict[str, Any]:
        """Logits, values and all that lies between."""
        seen: dict[str, Any] = {"policy": [x], "critic": [np.hstack([x, hidden])]}
        for name, layers in (("policy", "hidden"), ("critic", "critic")):
            if name == "critic" and "critic.0.weight" not in weights:
                seen["critic"] = seen["policy"]
                break
            for k in range(len(self.settings.layers)):
                w, b = weights[f"{layers}.{k}.weight"], weights[f"{layers}.{k}.bias"]
                seen[name].append(np.maximum(seen[name][-1] @ w.T + b, 0))
        seen["logits"] = seen["policy"][-1] @ weights["policy.weight"].T + weights["policy.bias"]
        value = seen["critic"][-1] @ weights["value.weight"].T + weights["value.bias"]
        seen["values"] = value[:, 0]
        return seen

    def logs(self, weights: Weights, x: Array, masks: Array) -> Array:
        """Logarithms of the probabilities of legal actions, minus infinity elsewhere."""
        logits = self.forward(weights, x, np.zeros((len(x), self.hidden_size)))["logits"]
        return masked_logs(logits, masks)

    @property
    def hidden_size(self) -> int:
        if "critic.0.weight" not in self.weights:
            return 0
        return self.weights["critic.0.weight"].shape[1] - self.weights["hidden.0.weight"].shape[1]

    def step(
        self, some: dict[str, Array], rate: float, entropy_weight: float, pulled: Array | None
    ) -> dict[str, float]:
        """One step on one part; returns its figures."""
        settings, n = self.settings, len(some["actions"])
        seen = self.forward(self.weights, some["x"], some["hidden"])
        logs = masked_logs(seen["logits"], some["masks"])
        shares = np.exp(logs)
        legal = some["masks"] > 0
        rows = np.arange(n)
        ratio = np.exp(logs[rows, some["actions"]] - some["logs"])
        wanted = some["advantages"]
        wanted = (wanted - wanted.mean()) / (wanted.std(ddof=1) + 1e-8)
        near = np.clip(ratio, 1 - settings.clip, 1 + settings.clip)
        unclipped = ratio * wanted <= near * wanted
        finite = np.where(legal, logs, 0)
        entropies = -(shares * finite).sum(axis=1)
        told = {
            "policy_loss": -np.minimum(ratio * wanted, near * wanted).mean(),
            "value_loss": ((seen["values"] - some["returns"]) ** 2).mean(),
            "entropy": entropies.mean(),
            "clipped": (np.abs(ratio - 1) > settings.clip).mean(),
            "divergence": (ratio - 1 - np.log(ratio)).mean(),
        }
        # Gradients with respect to the logits: of log p_a it is e_a - p.
        chosen = np.zeros_like(shares)
        chosen[rows, some["actions"]] = 1
        by_logits = -(ratio * wanted * unclipped)[:, None] * (chosen - shares)
        by_logits += entropy_weight * shares * (finite + entropies[:, None])
        if pulled is not None:
            apart = finite - np.where(legal, pulled, 0)
            distance = (shares * apart).sum(axis=1, keepdims=True)
            by_logits += settings.pull * shares * (apart - distance)
        by_values = settings.value_weight * 2 * (seen["values"] - some["returns"])
        gradient = self._back(seen, by_logits / n, by_values[:, None] / n)
        length = np.sqrt(sum((each**2).sum() for each in gradient.values()))
        told["gradient"] = length
        scale = min(1.0, settings.most_gradient / (length + 1e-6))
        self._adam({name: scale * each for name, each in gradient.items()}, rate)
        for name, each in self.average.items():
            each *= settings.average
            each += (1 - settings.average) * self.weights[name]
        return {name: float(each) for name, each in told.items()}

    def _back(self, seen: dict[str, Any], by_logits: Array, by_values: Array) -> Weights:
        gradient: Weights = {}
        shared = "critic.0.weight" not in self.weights
        ends = [("policy", "hidden", by_logits, "policy")]
        ends.append(("value", "hidden" if shared else "critic", by_values, "critic"))
        for name, layers, by_out, path in ends:
            by = by_out
            for k in range(len(self.settings.layers), -1, -1):
                part = name if k == len(self.settings.layers) else f"{layers}.{k}"
                x = seen[path][k]
                gradient[f"{part}.weight"] = gradient.get(f"{part}.weight", 0) + by.T @ x
                gradient[f"{part}.bias"] = gradient.get(f"{part}.bias", 0) + by.sum(axis=0)
                by = (by @ self.weights[f"{part}.weight"]) * (x > 0)
        return gradient

    def _adam(self, gradient: Weights, rate: float) -> None:
        self.count += 1
        for name, g in gradient.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * g
            self.second[name] = 0.999 * self.second[name] + 0.001 * g**2
            mean = self.first[name] / (1 - 0.9**self.count)
            spread = self.second[name] / (1 - 0.999**self.count)
            self.weights[name] = self.weights[name] - rate * mean / (np.sqrt(spread) + 1e-5)


def doubled(weights: Weights) -> Weights:
    return {name: each.astype(np.float64) for name, each in weights.items()}


def masked_logs(logits: Array, masks: Array) -> Array:
    low = np.where(masks > 0, logits, -np.inf)
    low = low - low.max(axis=1, keepdims=True)
    return low - np.log(np.exp(low).sum(axis=1, keepdims=True))


def seat_by_seat(
    seats: Array, paid: Array, ended: Array, values: Array, after: Array, discount: float,
    trace: float,
) -> Array:  # fmt: skip
    """Generalised advantages of one game; `after` is what lies beyond the last step is worth to
    each seat."""
    out = np.zeros(len(seats))
    for seat in range(2):
        mine = [step for step in range(len(seats)) if seats[step] == seat]
        gained, worth = 0.0, float(after[seat])
        stop = len(seats)
        for step in reversed(mine):
            ends = np.flatnonzero(ended[step:stop])
            last = step + int(ends[0]) + 1 if len(ends) else stop
            if len(ends):
                gained, worth = 0.0, 0.0
            surprise = paid[step:last, seat].sum() + discount * worth - values[step]
            gained = surprise + discount * trace * gained
            out[step], worth, stop = gained, values[step], step
    return out


def rows_of(
    trainer: PPO, paid: list[Array], beyond: tuple[Array, Array] | None
) -> dict[str, Array]:
    """What was played as rows, its advantages computed here from what the games paid."""
    kept, wanted = trainer._buffers, trainer.settings
    steps, games = len(paid), wanted.games
    rewards = np.array(paid, np.float64) / UNIT
    gained = np.zeros((steps, games))
    for game in range(games):
        after = np.zeros(2)
        if beyond is not None:
            seat, value = int(beyond[0][game]), float(beyond[1][game])
            after[seat], after[1 - seat] = value, -value
        gained[:, game] = seat_by_seat(
            kept.seats[:steps, game], rewards[:, game],
            kept.ended[:steps, game], kept.values[:steps, game].astype(np.float64), after,
            wanted.discount, wanted.trace,
        )  # fmt: skip
    where = np.flatnonzero(kept.learns[:steps])
    flat = {
        "x": kept.observations, "hidden": kept.hidden, "masks": kept.masks,
        "actions": kept.actions, "logs": kept.logs,
    }  # fmt: skip
    rows = {
        name: each[:steps].reshape(steps * games, *each.shape[2:])[where]
        for name, each in flat.items()
    }
    rows["x"], rows["hidden"] = rows["x"].astype(float), rows["hidden"].astype(float)
    rows["advantages"] = gained.ravel()[where]
    rows["returns"] = rows["advantages"] + kept.values[:steps].ravel()[where]
    return rows


def iterated(trainer: PPO, plain: Plain, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """One iteration of both; the plain one learns in the same order from what was played."""
    orders: list[Array] = []
    beyond: list[tuple[Array, Array]] = []
    real, answers = trainer.random, trainer._answers
    done = trainer.decisions / trainer.settings.decisions
    paid: list[Array] = []
    step_games = trainer.games.step

    class Recorded:
        bit_generator = real.bit_generator

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def permutation(self, count: int) -> Array:
            orders.append(real.permutation(count))
            return orders[-1]

    def stepped(actions: Array) -> Any:
        now = step_games(actions)
        paid.append(now.rewards.copy())
        return now

    def answered(step: int) -> tuple[Array, Array]:
        found = answers(step)
        if step < 0:
            beyond.append((trainer.games.look().seats.copy(), found[1]))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "random", Recorded())
        patch.setattr(trainer, "_answers", answered)
        patch.setattr(trainer.games, "step", stepped)
        told = trainer.iterate()
    wanted = trainer.settings
    assert len(beyond) == (not trainer._buffers.ended[len(paid) - 1].all())
    rows = rows_of(trainer, paid, beyond[0] if beyond else None)
    assert trainer._buffers.hidden.shape[-1] == plain.hidden_size
    rate = wanted.learning_rate + done * (wanted.learning_rate_end - wanted.learning_rate)
    bonus = wanted.entropy + done * (wanted.entropy_end - wanted.entropy)
    pulled = plain.logs(plain.average, rows["x"], rows["masks"]) if wanted.pull else None
    count = len(rows["actions"])
    figures: list[dict[str, float]] = []
    assert len(orders) == wanted.epochs
    for order in orders:
        assert sorted(order) == list(range(count))
        for part in np.array_split(order, max(1, round(count / wanted.minibatch))):
            some = {name: each[part] for name, each in rows.items()}
            chosen = None if pulled is None else pulled[part]
            figures.append(plain.step(some, rate, bonus, chosen))
    found = {name: float(np.mean([each[name] for each in figures])) for name in figures[0]}
    found |= {"learning_rate": rate, "entropy_weight": bonus}
    found["explained"] = 1 - found["value_loss"] / rows["returns"].var(ddof=1)
    for name, value in found.items():
        assert told[name] == pytest.approx(value, rel=2e-3, abs=2e-4), name
    return told


def same(found: Weights, wanted: Weights) -> None:
    assert found.keys() == wanted.keys()
    for name, each in found.items():
        assert each == pytest.approx(wanted[name], rel=1e-3, abs=2e-4), name


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"critic": "own"},
        {"critic": "shared"},
        {"pull": 0.0},
        {"steps": 5},
        {"pool_games": 0.5, "opponents": ("random",)},
    ],
)
def test_an_iteration_is_what_the_formulas_say(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = PPO(settings(**changes))
    plain = Plain(trainer)
    told = []
    for _ in range(4):
        told.append(iterated(trainer, plain, monkeypatch))
        same(weights_of(trainer.network), plain.weights)
        same(weights_of(trainer.average), plain.average)
    # Ratios and gradients were so large that clipping them shows.
    assert max(each["clipped"] for each in told) > 0.02
    assert max(each["gradient"] for each in told) > trainer.settings.most_gradient
    # What is handed out is the average, which is not the network.
    same(trainer.player(), plain.average)
    assert any(
        np.abs(each - plain.weights[name]).max() > 0.01 for name, each in trainer.player().items()
    )


# -- each part by what it does


def test_advantages_count_by_their_spread_and_not_by_their_size() -> None:
    """Rewards of a tenth teach the policy the same."""
    found = []
    for scale in (1.0, 0.1):
        trainer = PPO(settings(value_weight=0.0, pull=0.0, steps=6))
        with torch.no_grad():
            trainer.network.value.weight.zero_()
        trainer.scales /= np.float32(scale)
        trainer.iterate()
        found.append(weights_of(trainer.network)["policy.weight"])
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_the_bonus_for_entropy_raises_it() -> None:
    told = {}
    for bonus in (0.0, 3.0):
        trainer = PPO(settings(entropy=bonus, entropy_end=bonus, pull=0.0))
        with torch.no_grad():
            trainer.network.policy.bias.copy_(torch.arange(52) % 7)
        for _ in range(10):
            told[bonus] = trainer.iterate()["entropy"]
    assert told[3.0] > told[0.0] + 0.05


def test_a_pull_keeps_the_policy_near_its_average() -> None:
    apart = {}
    for pull in (0.0, 20.0):
        trainer = PPO(settings(pull=pull, average=0.99, entropy=0.0, entropy_end=0.0, epochs=4))
        for _ in range(6):
            trainer.iterate()
        batch = trainer._buffers.decisions(trainer.steps)
        average = trainer.logs_of(trainer.average, batch)
        mine = trainer.logs_of(trainer.network, batch)
        apart[pull] = float((mine.exp() * (mine - average).clamp(-50, 50)).sum(1).mean())
    assert apart[20.0] < 0.5 * apart[0.0]


def moved(before: Weights, trainer: PPO) -> dict[bool, float]:
    """How far the furthest weight of the policy went, and of its critic."""
    found = {False: 0.0, True: 0.0}
    for name, each in weights_of(trainer.network).items():
        of_critic = name.startswith(("critic", "value"))
        found[of_critic] = max(found[of_critic], float(np.abs(each - before[name]).max()))
    return found


def test_a_critic_may_learn_before_the_policy_moves() -> None:
    trainer = PPO(settings(decisions=480, critic_first=0.5))
    while trainer.decisions < 480:
        first, before = trainer.decisions < 240, weights_of(trainer.network)
        trainer.iterate()
        went = moved(before, trainer)
        assert went[True] > 0
        assert (went[False] == 0) is first


def test_a_critic_may_learn_faster_than_the_policy() -> None:
    """Adam's first step has the length of the rate."""
    for times in (1.0, 0.25):
        trainer = PPO(settings(epochs=1, minibatch=240, clip=0.2, critic_rate=times))
        before = weights_of(trainer.network)
        trainer.iterate()
        assert moved(before, trainer) == pytest.approx({False: 0.05, True: 0.05 * times}, rel=0.02)


def test_rates_fall_along_the_way_and_end_where_they_should() -> None:
    trainer = PPO(settings(decisions=480))
    told = []
    while trainer.decisions < 480:
        before = trainer.decisions
        told.append((before / 480, trainer.iterate()))
    assert len(told) > 3
    for done, each in told:
        assert each["learning_rate"] == pytest.approx(0.05 - 0.04 * done)
        assert each["entropy_weight"] == pytest.approx(0.3 - 0.2 * done)


def test_the_oracle_is_shown_the_cards_that_its_critic_judges_by() -> None:
    trainer = PPO(settings(critic="oracle"))
    trainer.iterate()
    hidden = trainer._buffers.hidden
    assert (hidden.reshape(-1, 208)[:, :52].sum(axis=1) >= 1).any()
    with torch.no_grad():
        values = trainer._answers(0)[1]
        hidden[:] = 0
        assert not np.allclose(values, trainer._answers(0)[1])


# -- others at the table


def test_who_joined_the_pool_plays_with_the_weights_that_it_joined_with() -> None:
    trainer = PPO(settings(pool_games=1.0, pool_every=40, pool_size=3, average=0.0))
    while not trainer.pool:
        trainer.iterate()
    kept = {name: each.clone() for name, each in trainer.pool[0].items()}
    assert trainer.earlier.state_dict().keys() == kept.keys()
    trainer.random = np.random.default_rng(1)
    del trainer.pool[1:]
    for _ in range(2):
        trainer._play(trainer.steps)
        for name, each in trainer.earlier.state_dict().items():
            assert torch.equal(each, kept[name]), name
        trainer.iterate()
        del trainer.pool[1:]
    now = trainer.network.state_dict()
    assert any(not torch.equal(now[name], each) for name, each in kept.items())


def test_an_earlier_self_plays_by_its_own_weights_and_not_by_the_learners() -> None:
    """It is made to like one action above all, and the learner another."""
    trainer = PPO(settings(pool_games=1.0, pool_every=10**6, decisions=10**7))
    liked = {}
    for name, place in (("earlier", 0), ("network", -1)):
        state = {key: torch.zeros_like(each) for key, each in trainer.network.state_dict().items()}
        places = np.flatnonzero(trainer.inputs < 52)
        order = torch.zeros(trainer.actions)
        cards = trainer.inputs[places]
        for rank, card in enumerate(cards if place == 0 else cards[::-1]):
            order[int(card)] = -40.0 * rank
        state["policy.bias"] = order
        liked[name] = order.numpy()
        if name == "earlier":
            trainer.pool = [state]
        else:
            trainer.network.load_state_dict(state)
    trainer._play(trainer.steps)
    kept = trainer._buffers
    for learner, name in ((True, "network"), (False, "earlier")):
        rows = kept.learns == learner
        assert rows.any()
        masked = np.where(kept.masks[rows] > 0, liked[name], -np.inf)
        assert (kept.actions[rows] == masked.argmax(axis=1)).all()


def test_the_pool_takes_the_average_when_it_is_due_and_lets_others_go_when_it_is_full() -> None:
    trainer = PPO(settings(pool_games=0.5, pool_every=100, pool_size=2, opponents=("random",)))
    joined = 0
    for _ in range(12):
        before = trainer.decisions // 100
        pool = [id(each) for each in trainer.pool]
        trainer.iterate()
        due = trainer.decisions // 100 != before
        joined += due
        assert len(trainer.pool) == min(joined, 2)
        if due:
            newest = trainer.pool[-1]
            for name, each in trainer.average.state_dict().items():
                assert torch.equal(newest[name], each)
            assert newest is not trainer.average.state_dict()
        else:
            assert [id(each) for each in trainer.pool] == pool
    assert joined > 2


class Remembering(Agent):
    """Remembers how often it was asked in each game since a hand began there."""

    name = "remembering"
    keeps_state = True

    def __init__(self, rules: Any, **options: Any) -> None:
        super().__init__(rules, **options)
        self.asked: dict[int, list[int]] = {}
        self.chance = make_agent("random", self.rules)

    def reset(self, indices: Array) -> None:
        for index in indices.tolist():
            self.asked[index] = []

    def act(self, views: Array, rng: Array, *, indices: Array) -> Array:  # type: ignore[override]
        for view, index in zip(views, indices.tolist(), strict=True):
            before = self.asked[index]
            tricks = int(view["trick"])
            assert len(before) == tricks, "it was not told of a new hand, or of another game"
            before.append(tricks)
        return self.chance.act(views, rng)


@pytest.mark.parametrize(("horizon", "steps"), [("hand", 16), ("foreplay", 8), ("match", 24)])
def test_an_opponent_that_remembers_is_told_of_hands_and_games(horizon: str, steps: int) -> None:
    """An iteration is some whole hands, of eight decisions, or of four up to the ending."""
    trainer = PPO(
        settings(pool_games=0.5, opponents=("random",), horizon=horizon, games=8, steps=steps)
    )
    agent = Remembering(trainer.settings.options.rules)
    trainer.opponents = [[agent]]
    for _ in range(3):
        trainer.iterate()
    assert set(agent.asked) == {0, 1, 2, 3}


# -- budgets


@pytest.mark.parametrize("budget", [90, 100, 1000])
@pytest.mark.parametrize("pool", [{}, {"pool_games": 0.5, "opponents": ("random",)}])
def test_a_training_ends_within_one_decision_a_game_of_its_budget(
    budget: int, pool: dict[str, Any]
) -> None:
    trainer = PPO(settings(decisions=budget, **pool))
    while trainer.decisions < budget:
        trainer.iterate()
    assert budget <= trainer.decisions < budget + trainer.settings.games


def test_decisions_are_those_that_are_learnt_from() -> None:
    trainer = PPO(settings(pool_games=1.0, opponents=("random",)))
    trainer.iterate()
    assert trainer.decisions == trainer._buffers.learns.sum() < trainer._buffers.learns.size


def test_one_decision_alone_is_not_learnt_from() -> None:
    trainer = PPO(settings(games=1, steps=1, minibatch=2))
    before = weights_of(trainer.network)
    told = trainer.iterate()
    assert told["gradient"] == 0
    same(weights_of(trainer.network), before)
    assert trainer.decisions == 1
