// What the server and the page tell each other, made from the code by `make docs`.

export interface TableRequest {
  rules?: string;
  opponent?: string;
  player?: string;
  match?: MatchRequest | null;
  seed?: number | null;
  number?: number;
  replayed_from?: SameDealRequest | null;
  memory?: boolean;
  lesson?: number;
  coached?: boolean;
}

export interface MatchRequest {
  kind: string;
  n?: number | null;
}

export interface SameDealRequest {
  id: string;
  hand: number;
  swapped?: boolean;
  decision?: number;
}

export interface SpeedRequest {
  delay_ms?: number | null;
  pause?: boolean | null;
  step?: boolean;
}

export interface TableUpdate {
  state: TableState;
  events: Array<TableEvent>;
}

export interface TableState {
  hand: Array<string>;
  hand_size_other: number;
  known_other: Array<string>;
  open: boolean;
  other_hand: Array<string> | null;
  stock_left: number;
  upcards: Array<string>;
  trump: string | null;
  low: boolean;
  phase: string;
  turn: number | null;
  legal: Array<number>;
  trick: Array<PlayedCard>;
  last_trick: Array<PlayedCard>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  dealer: number;
  turned: string | null;
  exchanged: [boolean | null, boolean | null];
  texts: TableText;
  id: string;
  n: number;
  move: number;
  rules: string;
  rules_title: string;
  opponent: string;
  player: string;
  names: [string, string];
  watched: boolean;
  rated: boolean;
  claim_refused: boolean;
  memory: boolean;
  lesson: number;
  match: MatchState;
  result: HandEnd | null;
  replay: HandRef | null;
  thinking: boolean;
  trouble: string | null;
  notice: string | null;
  left: boolean;
  speed: Speed | null;
}

export interface PlayedCard {
  who: number;
  card: string;
}

export interface TableText {
  match: string;
  stage: string;
  prompt: string;
  answer: string;
  last: string;
  guide: Guide | null;
  table: Array<string>;
}

export interface Guide {
  text: Array<string>;
  wrong: boolean;
}

export interface MatchState {
  kind: string;
  n: number | null;
  points: Array<number>;
  hands_won: Array<number>;
  hand: number;
  hands: Array<HandResult>;
  over: boolean;
  winner: number | null;
}

export type HandResult = [Array<number>, Array<number>, boolean];

export interface HandEnd {
  tricks: Array<number>;
  payoffs: Array<number>;
  text: string;
  headline: string;
  notes: Array<string>;
}

export interface HandRef {
  id: string;
  hand: number;
}

export interface Speed {
  delay_ms: number;
  paused: boolean;
}

export interface TableEvent {
  kind: string;
  who: number | null;
  text: string;
  card: string | null;
  cards: Array<string> | null;
  n: number;
}

export interface Menu {
  rules: Array<RulesInfo>;
  agents: Array<AgentInfo>;
  notice: string | null;
}

export interface RulesInfo {
  name: string;
  title: string;
  about: string;
  usual: boolean;
}

export interface AgentInfo {
  name: string;
  title: string;
  about: string;
  plays: Array<string> | null;
  usual: boolean;
  named: boolean;
  strength: number | null;
}

export interface Refusal {
  error: string;
  state?: TableState | null;
}

export interface TableSummary {
  id: string;
  title: string;
  match: string;
  score: Array<number>;
  over: boolean;
}

export interface Problem {
  hand: Array<string>;
  hand_size_other: number;
  known_other: Array<string>;
  open: boolean;
  other_hand: Array<string> | null;
  stock_left: number;
  upcards: Array<string>;
  trump: string | null;
  low: boolean;
  phase: string;
  turn: number | null;
  legal: Array<number>;
  trick: Array<PlayedCard>;
  last_trick: Array<PlayedCard>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  dealer: number;
  turned: string | null;
  exchanged: [boolean | null, boolean | null];
  texts: TableText;
  id: string;
  kind: string;
  rules_title: string;
  names: [string, string];
  question: string;
  rating: number | null;
}

export interface AnswerResult {
  solved: boolean;
  verdict: string;
  why: string;
  best: Array<number>;
  values: Array<ActionValue>;
  unit: string;
  exact: boolean;
  rating: number | null;
  change: number | null;
  streak: number;
  steps: Array<VisibleState>;
}

export interface ActionValue {
  action: number;
  card: string;
  value: number | null;
  cost: number;
  margin_of_error?: number | null;
  cost_margin_of_error?: number;
  tricks?: number | null;
  probability?: number | null;
}

export interface VisibleState {
  hand: Array<string>;
  hand_size_other: number;
  known_other: Array<string>;
  open: boolean;
  other_hand: Array<string> | null;
  stock_left: number;
  upcards: Array<string>;
  trump: string | null;
  low: boolean;
  phase: string;
  turn: number | null;
  legal: Array<number>;
  trick: Array<PlayedCard>;
  last_trick: Array<PlayedCard>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  dealer: number;
  turned: string | null;
  exchanged: [boolean | null, boolean | null];
  texts: TableText;
}

export interface PlayoutLine {
  text: string;
  steps: Array<VisibleState>;
}

export interface PuzzleStats {
  rating: number;
  provisional: boolean;
  puzzles: number;
  tried: number;
  solved: number;
  streak: number;
  best_streak: number;
  themes: Record<string, number>;
  history: Array<PuzzleAttempt>;
}

export interface PuzzleAttempt {
  id: string;
  solved: boolean;
  rating: number;
  theme: string;
}

export interface Exercise {
  id: string;
  hand: number;
  decision: number;
  cost: number;
  solved: boolean | null;
  finished: number;
  title: string;
}

export interface LessonProgress {
  done: Array<number>;
  played: boolean;
}

export interface HandSummary {
  replay: HandRef;
  rules_title: string;
  result: ReplayResult;
  when: number;
  opponent: string;
}

export interface ReplayResult {
  tricks: Array<number>;
  payoffs: Array<number>;
  text: string;
}

export interface AnalysisProgress {
  done: number;
  ready: boolean;
}

export interface Analysis {
  unit: string;
  search: string;
  network: string | null;
  decisions: Array<DecisionValues>;
  mistakes: Array<Mistake>;
  totals: Array<SeatTotals>;
  turning_point: string;
  story: Array<StoryPoint>;
  ready: boolean;
  done: number;
}

export interface DecisionValues {
  exact: boolean;
  unit: string;
  best: Array<number>;
  cards: Array<ActionValue>;
  samples: number | null;
  n: number;
  who: number;
  stage: string;
  trick: number;
  action: number;
  cost: number;
  sure: boolean;
}

export interface Mistake {
  n: number;
  who: number;
  cost: number;
  text: string;
}

export interface SeatTotals {
  mattered: number;
  mistakes: number;
  cost: number;
  accuracy: number | null;
}

export interface StoryPoint {
  n: number;
  trick: number;
  expected: number;
  exact: boolean;
}

export interface PositionValues {
  exact: boolean;
  unit: string;
  best: Array<number>;
  cards: Array<ActionValue>;
  samples: number | null;
}

export interface NetworkReview {
  names: Array<string>;
  decisions: Array<NetworkDecision>;
  curves: Array<ValueCurve>;
  first_difference: number | null;
  continuations: Array<Continuation>;
}

export interface NetworkDecision {
  n: number;
  actions: Array<number>;
  policies: Array<PolicyChoice>;
  kl: number | null;
  belief: Record<string, number>;
}

export interface PolicyChoice {
  probabilities: Array<number>;
  entropy: number;
}

export interface ValueCurve {
  name: string;
  unit: string;
  values: Array<SeatValue>;
}

export interface SeatValue {
  n: number;
  who: number;
  expected: number;
  spread: number | null;
  actual: number | null;
}

export interface Continuation {
  name: string;
  actions: Array<number>;
  result: string;
}

export interface NotableHand {
  number: number;
  deal_payoff: number;
  step: number;
  probability: number | null;
  replay: Replay;
  networks: NetworkReview;
}

export interface Replay {
  rules: string;
  rules_title: string;
  players: [string, string];
  note: string;
  dealer: number;
  match: MatchInfo | null;
  result: ReplayResult;
  steps: Array<Step>;
  final: BoardState;
}

export interface MatchInfo {
  kind: string;
  n: number | null;
  points: Array<number>;
  hands_won: Array<number>;
  hand: number;
}

export interface Step {
  n: number;
  who: number;
  kind: string;
  action: number;
  card: string;
  legal: Array<number>;
  trick: number;
  prompt: string;
  text: string;
  won: number | null;
  drew: Array<Draw>;
  before: BoardState;
}

export interface Draw {
  who: number;
  card: string;
  open: boolean;
}

export interface BoardState {
  turn: number | null;
  hands: Array<Array<string>>;
  known: Array<Array<string>>;
  stock_left: number;
  upcards: Array<string>;
  trump: string | null;
  low: boolean;
  trick: Array<PlayedCard>;
  last_trick: Array<PlayedCard>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  open: boolean;
  turned: string | null;
  exchanged: Array<boolean | null>;
}

export interface SeenCards {
  suits: Record<string, Record<string, string>>;
  known: Array<string>;
  hidden: number;
  voids: Record<string, number>;
  away: boolean;
}

export interface Hint {
  action: number;
  why: string;
  exact: boolean;
  unit: string;
  estimates: Array<ActionValue>;
}

export interface RulesText {
  title: string;
  about: string;
  text: Array<Chapter>;
}

export type Chapter = [string, Array<string>];

export interface Statistics {
  rows: Array<ResultRow>;
  total: Record<string, number>;
  play: Array<RatingPoint>;
  puzzles: Array<RatingPoint>;
  accuracy: Array<AccuracyPoint>;
}

export interface ResultRow {
  opponent: string;
  rules: string;
  hands: number;
  won: number;
  drawn: number;
  lost: number;
  given_up: number;
  margin: number;
  best: number;
  matches: number;
  matches_won: number;
}

export interface RatingPoint {
  finished: number;
  rating: number;
  deviation: number;
}

export interface AccuracyPoint {
  finished: number;
  mattered: number;
  mistakes: number;
  accuracy: number;
}
