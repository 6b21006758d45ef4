/** `capsule-gate/express`: the gate inside an Express application. */
export {
  type AppHandler,
  type GateMiddleware,
  type GuardOptions,
  gate,
} from './gate.js'
export { type GovernedProxy, type GovernedProxyOptions, governedProxy } from './governed-proxy.js'
export type { Answers } from './relayed.js'
export type { AppRequest } from './replay-request.js'
