import { actionStatus } from './actions.js'
import { approvalById, approvalDecide, approvalList, approvalReopen } from './approvals.js'
import { grantCreate, grantDelete, grantList } from './approvals-grants.js'
import { decisionDelivery } from './approvals-sources.js'
import { capsuleById, capsuleList } from './capsules.js'
import { events } from './events.js'
import { evidenceByAction, evidenceErase } from './evidence.js'
import { haltCreate, haltDelete, haltList } from './halts.js'
import { livez, readyz } from './health.js'
import { keys } from './keys.js'
import { metrics } from './metrics.js'
import { closeItems, openItems } from './open-items.js'
import { openApi } from './openapi.js'
import { outcomeCreate } from './outcomes.js'
import type { Route } from './route.js'

/** The route × role table: all there is on the admin plane, and who reaches it. */
export const ROUTES: readonly Route[] = [
  livez,
  readyz,
  metrics,
  actionStatus,
  capsuleList,
  capsuleById,
  openItems,
  closeItems,
  approvalList,
  approvalById,
  approvalDecide,
  approvalReopen,
  decisionDelivery,
  grantList,
  grantCreate,
  grantDelete,
  events,
  keys,
  haltList,
  haltCreate,
  haltDelete,
  outcomeCreate,
  evidenceByAction,
  evidenceErase,
  openApi(() => ROUTES),
]
