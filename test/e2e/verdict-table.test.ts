import { MANIFEST } from '../support/verdict-scenarios.js'
import { verdictTable } from './verdict-table.js'
import {
  throughFetch,
  throughFunction,
  throughGovernedProxy,
  throughMiddleware,
  throughProxy,
} from './verdict-ways.js'

verdictTable({
  name: 'the stand-alone proxy',
  mount: 'proxy',
  unreachable: { passed_through: 'an ungoverned route; the proxy’s own suite has it' },
  open: throughProxy,
})
verdictTable({ name: 'Express middleware', mount: 'middleware', open: throughMiddleware })
verdictTable({ name: 'governedProxy', mount: 'governed_proxy', open: throughGovernedProxy })
verdictTable({
  name: 'a wrapped function',
  mount: 'function',
  // Called by name, never found by method and path.
  manifest: MANIFEST.replaceAll(/^ {4}match: .*\n/gm, ''),
  unreachable: { outcome_unknown: 'a function that fails says so; fetch has this row' },
  open: throughFunction,
})
verdictTable({
  name: 'the gated fetch',
  mount: 'governed_proxy',
  unreachable: {
    target_malformed: 'a URL object has no such target',
    request_malformed: 'there is no second reader',
    body_too_large: 'the body is the program’s own',
    bodies_exhausted: 'the body is the program’s own',
    body_aborted: 'the body is the program’s own',
    body_consumed: 'the body is the program’s own',
    unauthenticated: 'the program vouches for the agent',
  },
  open: throughFetch,
})
