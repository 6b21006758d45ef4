import { broken, denied, EVERYWHERE, row, SAFE_TO_RETRY } from './row.js'

/** How calls of tools with an intent end before they are judged, or by the state of what they stand on. */
export const DECLARE_ROWS = {
  mandate_missing: denied(401, EVERYWHERE, [
    'This tool needs a mandate and a declaration of intent, and the call brought no mandate.',
    'Send the mandate you were issued as Agent-Mandate (or bearer token) and your intent as Agent-Intent; over MCP in _meta, as dev.capsulegate/mandate and dev.capsulegate/intent.',
  ]),
  mandate_invalid: denied(401, EVERYWHERE, [
    'The mandate of this call is not accepted: it cannot be verified, is out of date, or is not yours.',
    'Ask your issuer for a new mandate and send the call with it.',
  ]),
  mandate_unverifiable: broken(503, EVERYWHERE, [
    'The keys of the issuer of this mandate cannot be had at present.',
    SAFE_TO_RETRY,
  ]),
  mandate_revoked: denied(403, EVERYWHERE, [
    'The mandate of this call was revoked.',
    'Stop; only a new mandate can let you go on.',
  ]),
  intent_missing: denied(400, EVERYWHERE, [
    'This tool needs a declaration of intent, and the call brought none.',
    'Send the same call with your intent in Agent-Intent (base64url of the JSON object); over MCP in _meta, as dev.capsulegate/intent.',
  ]),
  intent_malformed: denied(400, EVERYWHERE, [
    'The declaration of intent does not have the form it must have.',
    'Correct the named field and send the call again; the same idp_id may be used.',
  ]),
  intent_thin_refused: denied(403, EVERYWHERE, [
    'This tool does not accept a thin declaration of intent.',
    'Send a standard one, with goal, reasoning, confidence and urgency.',
  ]),
  intent_duplicate: denied(409, EVERYWHERE, [
    'A declaration with this idp_id was committed before.',
    'Look up the earlier action, if it is named; for a new step use a new idp_id.',
  ]),
  intent_object_mismatch: denied(403, EVERYWHERE, [
    'The declaration or the call is about another object than the mandate.',
    'Use the mandate of that object, and its so_id in the declaration.',
  ]),
  intent_mandate_mismatch: denied(403, EVERYWHERE, [
    'The declaration names another mandate than the one that was sent.',
    'Put the jti of the mandate you send into mandate_id.',
  ]),
  intent_session_mismatch: denied(403, EVERYWHERE, [
    'The declaration names a session that is not the one of this mandate and agent.',
    'Use the session_id of your mandate, or the one your session began with.',
  ]),
  intent_step_stale: denied(409, EVERYWHERE, [
    'The step_sequence is not greater than the last committed one of this session.',
    'Send the call again with a step_sequence above last_committed.',
  ]),
  intent_mission_mismatch: denied(403, EVERYWHERE, [
    'The declaration names another mission than the mandate.',
    'Compare mismatch_detail, and declare the mission of your mandate.',
  ]),
  session_over: denied(403, EVERYWHERE, [
    'This session is over.',
    'Begin a new session, with a mandate for it.',
  ]),
  session_pending: denied(409, EVERYWHERE, [
    'A person is asked about this session; no step of it is sent until they have decided.',
    'Wait, ask for the status of the named approval, then send the next step.',
  ]),
  mission_invalid: denied(403, EVERYWHERE, [
    'The mission of this call is suspended or over.',
    'Stop; an operator has to resolve the state of the mission.',
  ]),
  object_state_invalid: denied(409, EVERYWHERE, [
    'The action is not possible in the present state of the object, or that state is not known.',
    'Take one of the available actions, or one of the suggested paths.',
  ]),
  mandate_scope: denied(403, EVERYWHERE, [
    'The action is outside the scope of the mandate.',
    'Take one of the available actions, or ask for a mandate that covers this one.',
  ]),
  cross_principal: denied(409, EVERYWHERE, [
    'Another principal changed this object last, and the two have to be coordinated first.',
    'Stop and tell your user; the principals have to agree.',
  ]),
} as const

/** What becomes of a session that people are asked about. */
export const SESSION_ROWS = {
  session_escalated: row('hitl_dispatched', 'none', 409, EVERYWHERE, [
    'The session was stopped, and a person is asked whether it goes on.',
    'Wait; ask for the status of the named approval.',
  ]),
  session_unattended: row('needs_decision', 'none', 403, EVERYWHERE, [
    'The session was ended: a person would have to decide, and nobody can be asked here.',
    'Begin a new session, with a mandate for it.',
  ]),
  session_resumed: row('resolved', 'none', 409, EVERYWHERE, [
    'A person let the session go on.',
    'Send the next step.',
  ]),
  session_ended: row('resolved', 'none', 403, EVERYWHERE, [
    'A person ended the session.',
    'Begin a new session, with a mandate for it.',
  ]),
} as const
