/** `node scripts/test/sum.mjs <file>…`: closes over the summaries in these files; a run that left none has failed. */
import { existsSync, readFileSync } from 'node:fs'
import { close } from './close.mjs'
import { emptySummary, sumOf } from './summary.mjs'

close(
  sumOf(
    process.argv
      .slice(2)
      .map((file) =>
        existsSync(file)
          ? JSON.parse(readFileSync(file, 'utf8'))
          : { ...emptySummary(), failed: 1 },
      ),
  ),
)
