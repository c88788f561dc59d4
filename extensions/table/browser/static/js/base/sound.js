// @ts-check
/* Short tones made on the spot, and vibrations; none until a player asks for them. */

import { settings } from "./settings.js";

/** @type {AudioContext} */
let context;

/** @type {(frequency: number, start: number, length: number, volume: number, type?: OscillatorType) => void} */
function tone(frequency, start, length, volume, type = "triangle") {
  const from = context.currentTime + start;
  const gain = new GainNode(context, { gain: 0 });
  gain.gain.setValueAtTime(volume, from);
  gain.gain.exponentialRampToValueAtTime(0.0005, from + length);
  const source = new OscillatorNode(context, { frequency, type });
  source.connect(gain).connect(context.destination);
  source.start(from);
  source.stop(from + length);
}

/* A card laid on the table is a short noise. */
/** @type {(length: number, volume: number, frequency: number) => void} */
function breath(length, volume, frequency) {
  const size = Math.ceil(context.sampleRate * length);
  const buffer = new AudioBuffer({ length: size, sampleRate: context.sampleRate });
  const data = buffer.getChannelData(0);
  for (let place = 0; place < size; place += 1) data[place] = (Math.random() * 2 - 1) * (1 - place / size) ** 2;
  const source = new AudioBufferSourceNode(context, { buffer });
  const filter = new BiquadFilterNode(context, { type: "lowpass", frequency });
  const gain = new GainNode(context, { gain: volume });
  source.connect(filter).connect(gain).connect(context.destination);
  source.start();
}

const SOUNDS = {
  card: () => breath(0.07, 0.5, 2400),
  draw: () => breath(0.05, 0.25, 1400),
  won: () => tone(660, 0, 0.16, 0.08),
  lost: () => tone(330, 0, 0.16, 0.06),
  refuse: () => tone(140, 0, 0.2, 0.12, "sawtooth"),
  hand: () => [523, 659, 784].forEach((note, place) => tone(note, place * 0.11, 0.3, 0.08)),
  match: () => [523, 659, 784, 1047].forEach((note, place) => tone(note, place * 0.13, 0.5, 0.1)),
};

/** What phones do beside it, in milliseconds.
 * @type {Partial<Record<keyof typeof SOUNDS, number | number[]>>}
 */
const VIBRATIONS = { won: 20, refuse: [30, 40, 30], hand: 60, match: [60, 60, 120] };

/** A tone and a vibration, each where it is wished.
 * @param {keyof typeof SOUNDS} name
 */
export function sound(name) {
  if (settings.vibration === "on") navigator.vibrate(VIBRATIONS[name] ?? 0);
  if (settings.sound !== "on") return;
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume();
  SOUNDS[name]();
}
