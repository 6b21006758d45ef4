import * as s from '../../json/shape.js'
import { line } from './line-type.js'
import { ACTOR } from './operate.js'

const TOOL = { server: s.text, tool: s.text }

/** What MCP servers leave: how they describe their tools, what they ask, and where they break the protocol. */
export const MCP_LINES = {
  TOOLS_PINNED: line({
    signed: true,
    says: 'A server described these tools for the first time; `definition` is the digest that each is held to from here on. The descriptions are public documents.',
    members: s.record({
      server: s.text,
      tools: s.list(s.record({ tool: s.text, definition: s.digest })),
    }),
    shown: ['server', 'tools'],
  }),
  TOOL_CHANGED: line({
    signed: true,
    says: 'A server describes a tool otherwise than it is held to: calls of it are refused from here on. Where `seen` is `pinned`, it describes it as before again, and they are not.',
    members: s.record({ ...TOOL, pinned: s.digest, seen: s.digest }),
    shown: ['server', 'tool', 'pinned', 'seen'],
  }),
  TOOL_ACCEPTED: line({
    signed: true,
    says: 'An operator accepted how a server describes a tool; it is held to `definition` from here on. `actor` as in HALT.',
    members: s.record({ ...TOOL, definition: s.digest, ...ACTOR }),
    shown: ['server', 'tool', 'definition', 'actor'],
  }),
  SERVER_ASKED: line({
    signed: false,
    says: "A server asked something of an agent's client: whether it was passed on or refused.",
    members: s.record({ server: s.text, method: s.text, agent: s.anyText, passed: s.flag }),
    shown: ['server', 'method', 'agent', 'passed'],
  }),
  SERVER_FAULT: line({
    signed: false,
    says: 'A server broke the protocol so many times: once, where it is the first time, else in a window.',
    members: s.record({
      server: s.text,
      fault: s.text,
      count: s.positive,
      window_seconds: s.count,
    }),
    shown: ['server', 'fault', 'count', 'window_seconds'],
  }),
} as const
