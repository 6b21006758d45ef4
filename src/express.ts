/** `capsule-gate/express`: the gate inside an Express application. */
export { gate, governedProxy } from './app/express.js'
export type { AppHandler, GateMiddleware, GuardOptions } from './mounts/express/gate.js'
export type { GovernedProxy, GovernedProxyOptions } from './mounts/express/governed-proxy.js'
export type { Answers } from './mounts/express/relayed.js'
export type { AppRequest } from './mounts/express/replay-request.js'
