import { MANIFEST } from '../support/verdict-scenarios.js'
import { verdictTable } from './verdict-table.js'
import { throughDecide } from './verdict-way-decide.js'
import {
  throughFetch,
  throughFunction,
  throughGovernedProxy,
  throughMiddleware,
} from './verdict-ways.js'

/** Called by name, never found by method and path. */
const BY_NAME = MANIFEST.replaceAll(/^ {4}match: .*\n/gm, '')

verdictTable({ name: 'Express middleware', mount: 'middleware', open: throughMiddleware })
verdictTable({ name: 'governedProxy', mount: 'governed_proxy', open: throughGovernedProxy })
verdictTable({
  name: 'a wrapped function',
  mount: 'function',
  manifest: BY_NAME,
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
verdictTable({
  name: 'a runtime that acts itself',
  mount: 'proxy',
  manifest: BY_NAME,
  unreachable: {
    target_malformed: 'a tool is named, not addressed',
    target_ambiguous: 'a tool is named, not addressed',
    query_not_read: 'a tool is named, not addressed',
    body_not_read: 'a tool without arguments gets an empty object',
    body_unreadable: 'the whole question is read strictly: request_malformed',
    held_memory_exhausted: 'nothing is held',
    upstream_unreachable: 'nothing is sent',
    deadline_before_dispatch: 'nothing is sent',
    executed: 'nothing is observed',
    tool_refused: 'nothing is observed',
    tool_failed: 'nothing is observed',
    outcome_unknown: 'a permit is cut when the gate stops; its own suite has it',
    passed_through: 'an ungoverned route; the proxy’s own suite has it',
  },
  open: throughDecide,
})
