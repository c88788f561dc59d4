"""PPO: its inputs, the cards that its critic sees, and an iteration in every kind of rules."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from small_runs import collect

from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.cpu_backend import CpuBackend
from german_whist.engine.cards import KEEP, TAKE_BLIND
from german_whist.engine.observation import spec
from german_whist.engine.observation.spec import OBSERVATION_SIZE, OBSERVATION_SPEC
from german_whist.engine.observation.suit_order import SUIT_ORDERS
from german_whist.engine.rules import named_rules
from german_whist.envs import SelfPlayEnv
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.rollout import backends
from german_whist.training.rollout.input_features import inputs_of
from german_whist.training.rollout.kernels import ActionSampling, sample_actions
from german_whist.training.rollout.optimizer import Adam
from german_whist.training.run_state import agent_from_weights

# Each set of rules with the horizon that its endings allow.
RULES = [("classic", "foreplay"), ("draft", "foreplay"), ("humbug", "hand"), ("race-7", "hand")]


def test_actions_are_sampled_by_their_logits() -> None:
    count = 40_000
    logits = np.tile(np.array([0.5, -1.0, 2.0, 9.0], np.float32), (count, 1))
    masks = np.tile(np.array([1, 1, 1, 0], np.int8), (count, 1))
    actions, log_probs = np.zeros(count, np.int64), np.zeros(count, np.float32)
    uniforms = np.random.default_rng(1).random(count, np.float32)
    sampling = ActionSampling(logits, masks, uniforms, actions, log_probs)
    CpuBackend().run_rows(count, sample_actions, sampling)
    probs = np.exp(logits[0, :3]) / np.exp(logits[0, :3]).sum()
    assert np.bincount(actions, minlength=4)[:3] / count == pytest.approx(probs, abs=0.01)
    assert log_probs == pytest.approx(np.log(probs)[actions], abs=1e-5)


# -- what is seen


def test_inputs_are_those_that_each_group_declares() -> None:
    read: set[int] = set()
    chosen = product(named_rules().values(), ("auto", "match"), SUIT_ORDERS, (False, True))
    for rules, horizon, suit_order, closed in chosen:
        options = options_from(rules, horizon=horizon, suit_order=suit_order)
        read.update(inputs_of(options, closed).tolist())
    for group in spec.EXCHANGE_SPEC.groups:
        places = range(group.start, group.start + group.size)
        declared = group.network_input
        assert declared in (spec.ALL, spec.DECK, spec.BY_RULES, spec.NONE), group.name
        assert read.isdisjoint(places) == (declared == spec.NONE), group.name
        assert declared != spec.ALL or read.issuperset(places), group.name


def test_relative_ranks_add_unseen_cards_to_inputs() -> None:
    options = options_from("classic", horizon="foreplay", suit_order="trump-first")
    more = np.setdiff1d(inputs_of(options, relative_ranks=True), inputs_of(options))
    assert more.tolist() == list(range(*OBSERVATION_SPEC.slice("unseen").indices(OBSERVATION_SIZE)))


@pytest.mark.parametrize("ranks", ["relative", "absolute"])
def test_buffer_actions_are_those_played(ranks: str) -> None:
    trainer = PPO(PPOSettings(n_envs=16, hidden_sizes=(8,), card_ranks=ranks))
    played: list[tuple[np.ndarray, np.ndarray]] = []
    step = trainer.games.step

    def recorded_step(actions: np.ndarray) -> Any:
        played.append((actions.copy(), trainer.collector.buffer.env_actions.copy()))
        return step(actions)

    trainer.games.step = recorded_step
    buffers = collect(trainer)
    for number, (actions, shown) in enumerate(played):
        places = buffers.actions[number]
        assert (shown[np.arange(16), places] == actions).all()
        assert buffers.action_masks[number][np.arange(16), places].all()


@pytest.mark.parametrize(
    ("name", "horizon", "suit_order"),
    [
        *((*each, "trump-first") for each in [*RULES, ("colour", "foreplay")]),
        ("classic", "foreplay", "raw"),
    ],
)
def test_excluded_inputs_are_constant(name: str, horizon: Any, suit_order: Any) -> None:
    inputs = inputs_of(options_from(name, horizon=horizon, suit_order=suit_order))
    assert len(np.unique(inputs)) == len(inputs)
    left_out = np.setdiff1d(np.arange(OBSERVATION_SIZE), inputs)
    # The unseen cards are what is nowhere else; the follower did not lead, unless it chooses.
    told_otherwise = [*range(*OBSERVATION_SPEC.slice("unseen").indices(OBSERVATION_SIZE))]
    told_otherwise += [
        OBSERVATION_SPEC.group("decision").start + 1,
        OBSERVATION_SPEC.group("leads").start,
    ]
    told_otherwise += [
        OBSERVATION_SPEC.group("stage").start,
        OBSERVATION_SPEC.group("stage").start + 1,
    ]
    if "colour" in name:
        told_otherwise.append(OBSERVATION_SPEC.group("contract").start)
    left_out = np.setdiff1d(left_out, told_otherwise)
    env = SelfPlayEnv(64, name, horizon=horizon, suit_order=suit_order)
    now = env.reset(seed=1)
    first = now.observations[0, left_out]
    rng = np.random.default_rng(2)
    for _ in range(60):
        assert (now.observations[:, left_out] == first).all()
        now = env.step((now.masks * rng.random(now.masks.shape)).argmax(axis=1))


def test_oracle_critic_sees_other_hand_and_stock() -> None:
    trainer = PPO(PPOSettings(n_envs=8, hidden_sizes=(8,), suit_order="raw", card_ranks="absolute"))
    now = trainer.games.observe()
    trainer.collector.add_observations(0, now)
    sets = trainer.collector.buffer.inputs_at(0)[1].reshape(8, 4, 52)
    unseen = now.observations[:, OBSERVATION_SPEC.slice("unseen")]
    upcards = now.observations[:, OBSERVATION_SPEC.slice("upcards")]
    assert (sets[:, 0].sum(axis=1) == 13).all()
    assert (sets[:, 1].sum(axis=1) == 1).all()
    assert ((sets[:, 2] + sets[:, 3]).sum(axis=1) == 26).all()
    assert ((sets[:, 0] + sets[:, 2] + sets[:, 3]) == unseen + upcards).all()
    assert (sets[:, 1] <= sets[:, 3]).all()


def test_oracle_critic_sees_blind_hands_until_taken() -> None:
    settings = PPOSettings(
        rules="humbug",
        horizon="hand",
        n_envs=8,
        hidden_sizes=(8,),
        suit_order="raw",
        card_ranks="absolute",
    )
    trainer, answers = PPO(settings), [KEEP, TAKE_BLIND] * 4
    deals = trainer.games.batch.games["deal"].copy()
    for step, actions in enumerate((answers, answers[::-1], None)):
        now = trainer.games.observe()
        trainer.collector.add_observations(step, now)
        other, below, mine, reference = (
            trainer.collector.buffer.inputs_at(step)[1].reshape(8, 4, 52).swapaxes(0, 1)
        )
        assert (other.sum(axis=1) == 13).all()
        assert not below.any()
        # A blind hand goes before each player's: the first is the non-dealer's, who is asked first.
        for game, deal in enumerate(deals):
            first, second = (sorted(deal[place::4].tolist()) for place in (0, 2))
            shown = [np.flatnonzero(each[game]).tolist() for each in (mine, reference)]
            assert shown == ([first, second], [second, []], [[], []])[step]
        if actions is not None:
            trainer.games.step(np.array(actions))


# -- iterations


@pytest.mark.parametrize(("name", "horizon"), RULES)
def test_ppo_trains_and_plays_rules_of_every_kind(name: str, horizon: Any) -> None:
    settings = PPOSettings(
        rules=name,
        horizon=horizon,
        reward="points",
        n_envs=32,
        hidden_sizes=(16,),
        batch_size=256,
        critic="oracle",
        kl_coef=0.1,
    )
    trainer = PPO(settings)
    for _ in range(2):
        metrics = trainer.iterate()
    assert all(np.isfinite(value) for value in metrics.values())
    agent = agent_from_weights(settings, trainer.policy_weights(), trainer.network_card(), "sample")
    env = SelfPlayEnv(8, name)
    now = env.reset(seed=3)
    for step in range(30):
        now = env.step(
            agent.act(env.views(), np.arange(8, dtype=np.uint64) + np.uint64(100 * step))
        )
    assert now.masks.any(axis=1).all()


@pytest.mark.parametrize("has_bfloat16", [True, False])
def test_mixed_precision_is_float32_without_bfloat16(
    has_bfloat16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "has_bfloat16", lambda: has_bfloat16)
    settings: Any = {"n_envs": 64, "hidden_sizes": (32,), "batch_size": 512}
    full = PPO(PPOSettings(**settings)).iterate()
    mixed = PPO(PPOSettings(**settings, precision="mixed")).iterate()
    for name in ("entropy", "value_loss"):
        assert full[name] == pytest.approx(mixed[name], rel=0.05)
    assert (full == mixed) is not has_bfloat16


# -- steps


def test_adam_steps_as_torch_without_its_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = torch.linspace(-1, 1, 6, requires_grad=True)
    ours, reference = (torch.nn.Parameter(start.detach().clone()) for _ in range(2))

    def step(optimizer: torch.optim.Optimizer, weights: torch.Tensor) -> None:
        optimizer.zero_grad()
        (weights**3).sum().backward()
        optimizer.step()

    plain = torch.optim.Adam([reference], lr=0.1, eps=1e-5)
    for _ in range(4):
        step(plain, reference)
    # So whoever imports it gets an error.
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)
    first = Adam([ours], lr=0.1, eps=1e-5)
    for _ in range(2):
        step(first, ours)
    second = Adam([ours], lr=0.1, eps=1e-5)
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        step(second, ours)
    assert torch.equal(ours, reference)
    assert not torch.equal(ours, start)
