import { evidenceContract } from '../../contract/evidence.js'
import { openBench } from './bench.js'

evidenceContract('files', () => openBench())
// So small that every few records begin a new one: closed segments answer from their sidecars.
evidenceContract('files, tiny segments', () => openBench({ segmentBytes: 700 }))
