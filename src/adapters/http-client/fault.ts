/**
 * Why a response was not read to a proven end. Named by what was seen on the wire and in which phase,
 * never by an operating system's error code (DESIGN §3).
 */
export type Fault =
  /** Not a status line of HTTP/1.0 or HTTP/1.1. */
  | 'malformed_status_line'
  /** Bare CR or LF, folding, NUL, space before the colon, a name that is no token. */
  | 'malformed_header'
  | 'head_too_large'
  /** Content-Length twice, no plain number, beside Transfer-Encoding, or on a status without body. */
  | 'conflicting_length'
  /** Anything but exactly one `chunked`, or chunked on HTTP/1.0. */
  | 'unknown_transfer_coding'
  | 'malformed_chunk'
  | 'malformed_trailer'
  | 'unasked_upgrade'
  | 'informational_flood'
  /** More bytes in the read that brought the end: whose answer this was is no longer certain. */
  | 'surplus_bytes'
  | `${'closed' | 'reset'}_${ReadPhase}`

export type ReadPhase = 'before_head' | 'in_head' | 'in_body'
