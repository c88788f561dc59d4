"""The public names; at run time `__init__.py` reads from here where each of them is."""

from .agents.external.policies import PolicyAgent as PolicyAgent
from .agents.networks.network_inputs import network_inputs as network_inputs
from .agents.registry import load_agent as load_agent
from .agents.tabular.strategy import write_strategy as write_strategy
from .engine.batch.results import StepResult as StepResult
from .engine.cards import KEEP as KEEP
from .engine.cards import TAKE_BLIND as TAKE_BLIND
from .engine.cards import TAKE_HIDDEN as TAKE_HIDDEN
from .engine.cards import Card as Card
from .engine.cards import card as card
from .engine.cards import card_set as card_set
from .engine.cards import cards as cards
from .engine.cards import cards_of as cards_of
from .engine.cards import text_of as text_of
from .engine.checks import IllegalAction as IllegalAction
from .engine.game import Game as Game
from .engine.observation.spec import OBSERVATION_SPEC as OBSERVATION_SPEC
from .engine.observation.state import STATE_SPEC as STATE_SPEC
from .engine.options import FOREPLAY_OPTIONS as FOREPLAY_OPTIONS
from .engine.records import GameRecord as GameRecord
from .engine.records import RecordError as RecordError
from .engine.records import append_records as append_records
from .engine.records import read_records as read_records
from .engine.records import record_of as record_of
from .engine.records import write_records as write_records
from .engine.rules import Match as Match
from .engine.rules import Rules as Rules
from .engine.rules import RulesError as RulesError
from .engine.rules import load_rules as load_rules
from .engine.rules import named_rules as named_rules
from .engine.text.answers import parse_answer as parse_answer
from .engine.text.position import legal_text as legal_text
from .engine.text.position import position_text as position_text
from .engine.text.position import prompt as prompt
from .engine.view import View as View
from .envs import german_whist_v0 as german_whist_v0
from .envs.self_play import SelfPlayEnv as SelfPlayEnv
from .evaluation import evaluate as evaluate
from .evaluation import ladder as ladder
from .evaluation.exploitability.policies import exploitability as exploitability
from .solvers.cfr_plus import CFRPlusSolver as CFRPlusSolver
from .training.api import resume as resume
from .training.api import train as train
from .training.datasets import Dataset as Dataset
from .training.datasets import generate_dataset as generate_dataset
from .training.experiments.compare import compare as compare
from .training.experiments.seeds import train_seeds as train_seeds
from .training.export.export import export_onnx as export_onnx
from .training.load_policy import load_policy as load_policy

__version__: str
__all__: list[str]
