import { connect } from 'node:net'

/** A server on stdio whose words come from the test that listens there: real pipes, a real process. */
const [path] = process.argv.slice(2)
const socket = connect(path)
process.stdin.pipe(socket)
socket.pipe(process.stdout)
socket.on('error', () => {})
// The test has cut it off: it dies as a crashed server does.
socket.on('close', () => process.kill(process.pid, 'SIGKILL'))
