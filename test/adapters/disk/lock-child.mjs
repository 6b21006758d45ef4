import { spawn } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { lockFolder } from '../../../dist/adapters/disk/lock.js'

/**
 * Another process that asks for the lock of a folder and says how that went, a line of JSON each time. `hold` keeps it
 * until its standard input ends; `with_child` starts a process of its own that outlives it; `cluster` asks in two
 * workers of one cluster and then in their primary.
 */
const [dir, what] = process.argv.slice(2)
const say = (told) => process.stdout.write(`${JSON.stringify(told)}\n`)
const ask = (describe) =>
  lockFolder(dir, 'keys', describe).then(
    () => ({ held: true, pid: process.pid }),
    ({ code, message }) => ({ held: false, code, message }),
  )

if (cluster.isWorker) process.send(await ask())
else if (what === 'cluster') {
  for (let nth = 0; nth < 2; nth++) {
    const [told] = await once(cluster.fork(), 'message')
    say(told)
  }
  say(await ask())
  for (const worker of Object.values(cluster.workers)) {
    const ended = once(worker, 'exit')
    worker.process.kill('SIGKILL')
    await ended
  }
} else {
  const told = await ask(what === 'hold' ? () => `pid ${process.pid}, reading` : undefined)
  if (what === 'with_child') {
    const script = 'process.stdin.resume(); process.stdout.write(process.argv[1])'
    const words = JSON.stringify({ ...told, child: true })
    // It has the same standard input, and so lives until the test ends that.
    spawn(process.execPath, ['-e', script, `${words}\n`], { stdio: 'inherit' })
  } else say(told)
  process.stdin.resume()
}
