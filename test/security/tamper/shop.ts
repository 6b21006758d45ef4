/** What judges the calls of the story: every way a call can go has a tool here. */
export const MANIFEST = `id: com.acme.shop
object:
  type: booking
  id: booking
  states: [created, closed]
  transitions:
    CloseBooking: {from: created, to: closed}
tools:
  read_booking:
    match: GET /v1/bookings/{booking}
    args: {booking: string}
    action: ReadBooking
    irreversibility: two_way
    intent: required
  close_booking:
    match: POST /v1/bookings/{booking}/close
    args: {booking: string}
    action: CloseBooking
    irreversibility: one_way_recoverable
    intent: required
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      daily_sum: {sum: {of: amount, max: "5000.00", window: 24h, per: [$agent]}}
    hitl: {ttl_seconds: 604800, refusal_seconds: 604800}
  close_account:
    match: POST /v1/accounts/close
    args: {account: string}
    hitl: {ttl_seconds: 604800, reminders_seconds: [60]}
  call_driver:
    match: POST /v1/calls
    args: {driver: string}
    hitl: {ttl_seconds: 600}
  send_voucher:
    match: POST /v1/vouchers
    args: {customer: string, amount: decimal}
  write_note:
    match: POST /v1/notes
    args: {customer: string, note: string}
    subject: customer
    capture: full
`
export const POLICIES = `
@id("support") permit (principal == Agent::"support-bot", action, resource);
@id("unsure") forbid (principal, action == Action::"CloseBooking", resource)
unless { context has idp.confidence_level && context.idp.confidence_level.greaterThanOrEqual(decimal("0.8")) };
@id("large-refund") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
@id("closings") @hem("required") forbid (principal, action == Action::"close_account", resource)
unless { context.approval.granted };
@id("calls") @hem("required") forbid (principal, action == Action::"call_driver", resource)
unless { context.approval.granted };
@id("vouchers") @hem("required") forbid (principal, action == Action::"send_voucher", resource)
unless { context.approval.granted };
`
