import { verdictTable } from './verdict-table.js'
import { throughProxy } from './verdict-ways.js'

/** The other mounts are in verdict-table.long.test.ts. */
verdictTable({
  name: 'the stand-alone proxy',
  mount: 'proxy',
  unreachable: {
    passed_through: 'an ungoverned route; the proxy’s own suite has it',
    claimed: 'no runtime acts here; decide has it',
    runtime_failed: 'no runtime acts here; decide has it',
    permits_exhausted: 'no runtime acts here; decide has it',
    ungated_report: 'no runtime acts here; decide has it',
  },
  open: throughProxy,
})
