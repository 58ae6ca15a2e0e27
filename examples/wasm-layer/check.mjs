// Trains the unit on rows of three inputs, of which one does not matter, and checks a prediction: node check.mjs FILE.wasm
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]));
const { buffer, memory, predict, train } = instance.exports;

function send(numbers) {
  const address = buffer(numbers.length); // may move the memory, so the view is made afterwards
  new Float64Array(memory.buffer, address, numbers.length).set(numbers);
}

const rows = Array.from({ length: 200 }, () => {
  const [a, b, c] = [1 + Math.random(), 1 + Math.random(), 1 + Math.random()];
  return [a, b, c, a * c];
});
const start = performance.now();
send(rows.flat());
const error = train(3);
console.log(`test error ${error.toExponential(1)} after ${Math.round(performance.now() - start)} ms`);

send([123, 77, -4.5]);
const product = predict();
console.log(`123 * -4.5 = ${product}`);
send([1]);
if (!(Math.abs(product + 553.5) < 1e-3) || !Number.isNaN(predict())) {
  throw new Error("not what was expected");
}
