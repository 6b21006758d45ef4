import {
  approvalById,
  approvalDecide,
  approvalList,
  approvalReopen,
} from './approvals/approvals.js'
import { grantCreate, grantDelete, grantList } from './approvals/grants.js'
import { decisionDelivery } from './approvals/sources.js'
import type { Route } from './route.js'
import { actionStatus } from './routes/actions.js'
import { capsuleById, capsuleList } from './routes/capsules.js'
import { events } from './routes/events.js'
import { evidenceByAction, evidenceErase } from './routes/evidence.js'
import { mandateRevoke, missionSet, objectById, objectSetState } from './routes/governed.js'
import { haltCreate, haltDelete, haltList } from './routes/halts.js'
import { livez, readyz } from './routes/health.js'
import { intentList } from './routes/intents.js'
import { keys } from './routes/keys.js'
import { metrics } from './routes/metrics.js'
import { closeItems, openItems } from './routes/open-items.js'
import { openApi } from './routes/openapi.js'
import { outcomeCreate } from './routes/outcomes.js'
import { sessionById, sessionClose, sessionCreate, sessionList } from './routes/sessions.js'
import { toolAccept, toolById, toolList } from './routes/tools.js'

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
  sessionList,
  sessionById,
  sessionCreate,
  sessionClose,
  mandateRevoke,
  missionSet,
  objectById,
  objectSetState,
  toolList,
  toolById,
  toolAccept,
  outcomeCreate,
  evidenceByAction,
  evidenceErase,
  intentList,
  openApi(() => ROUTES),
]
