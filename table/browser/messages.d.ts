// What the server and the page tell each other, made from the code by `make docs`.

export interface WantedTable {
  rules?: string;
  opponent?: string;
  player?: string;
  match?: WantedMatch | null;
  seed?: number | null;
  number?: number;
  name?: string;
  again?: WantedAgain | null;
  lesson?: boolean;
}

export interface WantedMatch {
  kind: string;
  n?: number | null;
}

export interface WantedAgain {
  id: string;
  hand: number;
  swapped?: boolean;
}

export interface WantedSpeed {
  delay_ms?: number | null;
  pause?: boolean | null;
  step?: boolean;
}

export interface Answer {
  state: TableState;
  events: Array<Event>;
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
  trick: Array<Played>;
  last_trick: Array<Played>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  dealer: number;
  turned: string | null;
  exchanged: [boolean | null, boolean | null];
  said: Said;
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
  lesson: boolean;
  match: MatchState;
  result: HandEnd | null;
  thinking: boolean;
  trouble: string | null;
  notice: string | null;
  left: boolean;
  replay: HandName | null;
  speed: Speed | null;
}

export interface Played {
  who: number;
  card: string;
}

export interface Said {
  match: string;
  stage: string;
  prompt: string;
  answer: string;
  last: string;
  guide: Array<string>;
  table: Array<string>;
}

export interface MatchState {
  kind: string;
  n: number | null;
  points: Array<number>;
  hands_won: Array<number>;
  hand: number;
  hands: Array<HandTold>;
  over: boolean;
  winner: number | null;
}

export interface HandTold {
  tricks: Array<number>;
  pay: Array<number>;
}

export interface HandEnd {
  headline: string;
  tricks: Array<number>;
  pay: Array<number>;
  text: string;
  compared: string;
}

export interface HandName {
  id: string;
  hand: number;
}

export interface Speed {
  delay_ms: number;
  paused: boolean;
}

export interface Event {
  kind: string;
  who: number | null;
  text: string;
  card: string | null;
  cards: Array<string> | null;
  n: number;
}

export interface Menu {
  rules: Array<RulesOffered>;
  agents: Array<AgentOffered>;
  notice: string | null;
}

export interface RulesOffered {
  name: string;
  title: string;
  about: string;
}

export interface AgentOffered {
  name: string;
  title: string;
  about: string;
  kind: string;
  plays: Array<string> | null;
  strength: number | null;
}

export interface Refusal {
  error: string;
  state?: TableState | null;
}

export interface TableListed {
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
  trick: Array<Played>;
  last_trick: Array<Played>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  dealer: number;
  turned: string | null;
  exchanged: [boolean | null, boolean | null];
  said: Said;
  id: string;
  kind: string;
  rules_title: string;
  names: [string, string];
  question: string;
  rating: number | null;
}

export interface Answered {
  solved: boolean;
  verdict: string;
  why: string;
  best: Array<number>;
  values: Array<Worth>;
  unit: string;
  exact: boolean;
  rating: number | null;
  change: number | null;
  streak: number;
}

export interface Worth {
  action: number;
  card: string;
  value: number | null;
  cost: number;
  half_width?: number | null;
  cost_half_width?: number;
  tricks?: number | null;
  probability?: number | null;
}

export interface Line {
  text: string;
  steps: Array<LineStep>;
}

export interface LineStep {
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
  trick: Array<Played>;
  last_trick: Array<Played>;
  tricks: Array<number>;
  stock_tricks: [number, number] | null;
  dealer: number;
  turned: string | null;
  exchanged: [boolean | null, boolean | null];
  said: Said;
  text: string;
}

export interface Solver {
  rating: number;
  deviation: number;
  puzzles: number;
  tried: number;
  solved: number;
  streak: number;
  best_streak: number;
}

export interface ExerciseListed {
  id: string;
  hand: number;
  decision: number;
  cost: number;
  solved: boolean | null;
  finished: number;
  title: string;
}

export interface HandListed {
  replay: HandName;
  rules_title: string;
  players: [string, string];
  result: Result;
  when: number | null;
  opponent: string;
}

export interface Result {
  tricks: Array<number>;
  pays: Array<number>;
  text: string;
}

export interface Opened {
  id: string;
  hands: Array<HandListed>;
  problems: Array<string>;
}

export interface Shared {
  replay: HandName;
}

export interface UnderWay {
  done: number;
  ready: boolean;
}

export interface Analysis {
  unit: string;
  search: string;
  network: string | null;
  decisions: Array<Decision>;
  mistakes: Array<Mistake>;
  totals: Array<Totals>;
  turning_point: string;
  story: Array<StoryPoint>;
  ready: boolean;
  done: number;
}

export interface Decision {
  exact: boolean;
  unit: string;
  best: Array<number>;
  cards: Array<Worth>;
  worlds: number | null;
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

export interface Totals {
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

export interface Values {
  exact: boolean;
  unit: string;
  best: Array<number>;
  cards: Array<Worth>;
  worlds: number | null;
}

export interface Replay {
  rules: string;
  rules_title: string;
  players: [string, string];
  dealer: number;
  match: MatchTold | null;
  result: Result;
  steps: Array<Step>;
  final: Position;
}

export interface MatchTold {
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
  trick: number;
  prompt: string;
  text: string;
  won: number | null;
  drew: Array<Draw>;
  before: Position;
}

export interface Draw {
  who: number;
  card: string;
  open: boolean;
}

export interface Position {
  turn: number | null;
  hands: Array<Array<string>>;
  known: Array<Array<string>>;
  stock_left: number;
  upcards: Array<string>;
  trump: string | null;
  low: boolean;
  trick: Array<Played>;
  last_trick: Array<Played>;
  tricks: Array<number>;
  open: boolean;
  turned: string | null;
  exchanged: Array<boolean | null>;
}

export interface SeenCards {
  suits: Record<string, Record<string, string>>;
  known: Array<string>;
  hidden: number;
  voids: Array<SeenVoid>;
  away: boolean;
}

export interface SeenVoid {
  suit: string;
  draws_since: number;
}

export interface Hint {
  action: number;
  why: string;
  exact: boolean;
  unit: string;
  estimates: Array<Worth>;
}

export interface RulesInWords {
  title: string;
  about: string;
  text: Array<Chapter>;
}

export type Chapter = [string, Array<string>];

export interface Statistics {
  rows: Array<Row>;
  total: Total;
  play: Array<RatingThen>;
  puzzles: Array<RatingThen>;
  accuracy: Array<AccuracyThen>;
}

export interface Row {
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

export interface Total {
  hands: number;
  won: number;
  drawn: number;
  lost: number;
  matches: number;
  matches_won: number;
}

export interface RatingThen {
  finished: number;
  rating: number;
  deviation: number;
}

export interface AccuracyThen {
  finished: number;
  mattered: number;
  mistakes: number;
  accuracy: number;
}
