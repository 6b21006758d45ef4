import { type DestinationStream, pino } from 'pino'
import type { GateConfig } from '../config/model.js'
import type { Report } from '../mounts/proxy/options.js'

/** What a gate reports, as JSON lines on stdout; less grave than `log.level` of gate.yaml is left out. */
export function logReports(
  level: GateConfig['log']['level'],
  to: DestinationStream = pino.destination(),
): Report {
  const logger = pino({ level, base: null }, to)
  return ({ level: gravity, event, ...rest }) => logger[gravity](rest, event)
}
