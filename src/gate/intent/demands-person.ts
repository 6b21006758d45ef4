import type { Intended } from '../context.js'

/** The agent demands a person's judgement (`hem_urgency: REQUIRED`): the call waits, whatever policy says (seed §4.4). */
export const demandsPerson = ({ intent }: Pick<Intended, 'intent'>): boolean =>
  intent?.intent.hemUrgency === 'REQUIRED'

export const URGENCY_RECORD = 'dev.capsulegate.hem_urgency'
