import { type ConfigProblem, sayProblem } from '../config/model.js'
import { EXIT, plain, printJson } from './output.js'

/** Problems of files the operator wrote: on stderr for a person, on stdout for a program. */
export function reportProblems(problems: readonly ConfigProblem[], json: boolean): void {
  process.exitCode = EXIT.failed
  if (json) printJson({ ok: false, problems })
  else for (const problem of problems) process.stderr.write(`${plain(sayProblem(problem))}\n`)
}
