"""The Lua scripts: every change of a job's state is one of these, and atomic.

KEYS[1] is the experiment's hash, KEYS[2] the lane (the same, or ``X:post``). Leases and back-offs are moments of the
steady clock, what is told to people is of the server's; both in milliseconds.
"""

from __future__ import annotations

from jqueuer.adapters.redis_store.clock import LUA
from jqueuer.adapters.redis_store.history import SPAN

_PRELUDE = (
    LUA
    + SPAN
    + """
local x, lane = KEYS[1], KEYS[2]
local function job_key(id) return lane .. ':job:' .. id end
local function sum(field, amount) if lane == x then redis.call('HINCRBYFLOAT', x, field, amount) end end
-- What forecasts need; kind: 'd:' and a bucket of durations, 'c:' and a number of running jobs, or 'u'.
local function measure(kind, seconds)
  if lane ~= x then return end
  redis.call('HINCRBY', x .. ':measured', kind .. ':count', 1)
  redis.call('HINCRBYFLOAT', x .. ':measured', kind .. ':seconds', seconds)
end
local function move(id, from, to)
  local index = redis.call('ZSCORE', lane .. ':' .. from, id)
  redis.call('ZREM', lane .. ':' .. from, id)
  redis.call('ZADD', lane .. ':' .. to, index or 0, id)
  redis.call('HSET', job_key(id), 'state', to)
end
-- A running job with its holders: token -> container. Mostly one; two while a second copy runs, then the job's
-- 'copies' says who, and each has a lease of its own. 'hedge' is 'open' for one second claim, then that one's token.
-- Where one of them ended in a way that would have failed the job, 'spent' says that the other is its last chance.
local function run_of(id)
  local job = job_key(id)
  local found = redis.call('HMGET', job, 'state', 'token', 'container', 'copies', 'hedge', 'spent')
  if found[1] ~= 'running' then return nil end
  local run = {id = id, job = job, token = found[2], copies = found[4], hedge = found[5], spent = found[6]}
  run.holders = found[4] and cjson.decode(found[4]) or {[found[2]] = found[3]}
  return run
end
local function lease_of(run, token) return run.copies and run.id .. ' ' .. token or run.id end
-- The holder gives its lease and its container back; whether another one goes on with the job. 'final': alone it would
-- have failed the job.
local function leave(run, token, final)
  redis.call('ZREM', lane .. ':leases', lease_of(run, token))
  redis.call('HDEL', x .. ':busy', run.holders[token])
  redis.call('HDEL', run.job, 's:' .. token)
  run.holders[token] = nil
  if next(run.holders) then
    redis.call('HSET', run.job, 'copies', cjson.encode(run.holders))
    if final then redis.call('HSET', run.job, 'spent', 1) end
    run.spent = run.spent or final
    return true
  end
  if run.copies then redis.call('HDEL', run.job, 'copies', 'spent') end
  if run.hedge == 'open' then redis.call('HDEL', run.job, 'hedge') end
  return false
end
-- Begun by the clock on the wall, lasted by the steady one.
local function close(run, token, outcome, reason, at_ms)
  local found = redis.call('HMGET', run.job, 'a:' .. token, 's:' .. token)
  local attempt = cjson.decode(found[1])
  local seconds = math.max(0, at_ms / 1000 - (found[2] and found[2] / 1000 or attempt['started_at']))
  attempt['outcome'] = outcome
  attempt['reason'] = reason
  attempt['finished_at'] = attempt['started_at'] + seconds
  span(run, attempt, attempt['finished_at'], outcome)
  redis.call('HSET', run.job, 'a:' .. token, cjson.encode(attempt))
  return seconds
end
local function requeue(id, at_ms)
  move(id, 'running', 'queued')
  redis.call('HSET', job_key(id), 'not_before', at_ms)
  redis.call('ZADD', lane .. ':due', at_ms, id)
end
local function cancelled() return redis.call('HGET', x, 'state') == 'cancelled' end
-- The container went away under a running job: not the job's failure, but not for ever either. 'blame' counts such
-- losses, apart for those where much went away at once: a job that was there then is hardly the reason, unless it is
-- there every time. Returns whether another copy goes on.
local function lose(run, token, at_ms, blame, most, reason, outcome)
  local times = redis.call('HINCRBY', run.job, blame, 1)
  local too_often = times >= most
  if too_often then
    reason = reason .. string.format('; that was the case %d times, so it is not run again', times)
  end
  sum('killed', 1)
  measure('u', close(run, token, outcome or 'lost', reason, at_ms))
  if leave(run, token, too_often) then return true end
  if cancelled() then move(run.id, 'running', 'cancelled')
  elseif too_often or run.spent then move(run.id, 'running', 'failed')
  else requeue(run.id, at_ms) end
  return false
end
"""
)

ADD = (
    _PRELUDE
    + """
-- ARGV: first position, then id, spec, number of tasks of each job. Returns the first id that is there already.
local position = tonumber(ARGV[1])
-- A batch that is there already, because its answer was lost, is no clash.
local function there(i, at)
  local found = redis.call('ZSCORE', lane .. ':order', ARGV[i])
  return found and (tonumber(found) == at and redis.call('HGET', job_key(ARGV[i]), 'spec') == ARGV[i + 1] and 2 or 1)
end
if there(2, position) == 2 then return false end
for i = 2, #ARGV, 3 do
  if there(i, -1) then return ARGV[i] end
end
for i = 2, #ARGV, 3 do
  local id = ARGV[i]
  redis.call('ZADD', lane .. ':order', position, id)
  redis.call('ZADD', lane .. ':queued', position, id)
  redis.call('HSET', job_key(id), 'i', position, 'spec', ARGV[i + 1], 'state', 'queued')
  redis.call('HSETNX', job_key(id), 'token', 0)
  sum('tasks_defined', ARGV[i + 2])
  position = position + 1
end
return false
"""
)

CLAIM = (
    _PRELUDE
    + """
-- ARGV: id, container, node, lease in ms, from how many ends of everything on a job is a suspect, its pause in ms
local id, job = ARGV[1], job_key(ARGV[1])
local found = redis.call('HMGET', job, 'state', 'not_before', 'spec', 'gone')
local run = found[1] == 'running' and run_of(id)
if run then
  for token, container in pairs(run.holders) do
    if container == ARGV[2] then  -- a container holds one job at a time: its answer was lost
      local begun = cjson.decode(redis.call('HGET', job, 'a:' .. token))['started_at']
      return {tonumber(token), math.floor(begun * 1000), found[3]}
    end
  end
end
if found[1] ~= 'queued' and not (run and run.hedge == 'open') then return false end
local gate = redis.call('HGET', x, 'state')
if gate ~= 'running' and gate ~= 'finishing' then return false end
local now = now_ms()
if not run and found[2] and tonumber(found[2]) > now then return false end
-- Was it the job that ended everything beside it? Suspects run one at a time, so that the others are not there then.
if not run and tonumber(found[4] or 0) >= tonumber(ARGV[5]) then
  local other = redis.call('HGET', x, 'suspect')
  if other and other ~= id and redis.call('HGET', job_key(other), 'state') == 'running' then
    redis.call('HSET', job, 'not_before', now + ARGV[6])
    redis.call('ZADD', lane .. ':due', now + ARGV[6], id)
    return false
  end
  redis.call('HSET', x, 'suspect', id)
end
local begun = wall_ms()
local token = redis.call('HINCRBY', job, 'token', 1)
if run then
  local first, copy = lane .. ':leases', string.format('%d', token)
  local expiry = redis.call('ZSCORE', first, id)
  redis.call('ZREM', first, id)
  run.copies = true
  redis.call('ZADD', first, expiry or now, lease_of(run, run.token))
  redis.call('ZADD', first, now + ARGV[4], lease_of(run, copy))
  run.holders[copy] = ARGV[2]
  redis.call('HSET', job, 'copies', cjson.encode(run.holders), 'hedge', copy)
else
  move(id, 'queued', 'running')
  redis.call('ZREM', lane .. ':due', id)
  redis.call('ZADD', lane .. ':leases', now + ARGV[4], id)
end
redis.call('HSET', x .. ':busy', ARGV[2], id)
redis.call('HSET', x .. ':busy_since', ARGV[2], begun)
local attempt = cjson.encode({number = token, container = ARGV[2], node = ARGV[3], started_at = begun / 1000})
local busy = redis.call('ZCARD', lane .. ':leases')
redis.call('HSET', job, 'container', ARGV[2], 'a:' .. token, attempt, 's:' .. token, now, 'busy', busy)
sum('attempts', 1)
redis.call('HSET', x, 'claimed_ms', begun)
return {token, begun, found[3]}
"""
)

RENEW = (
    _PRELUDE
    + """
-- ARGV: id, token, lease in ms
local run = run_of(ARGV[1])
if not run or not run.holders[ARGV[2]] then return 'lost' end
if cancelled() then return 'cancelled' end
redis.call('ZADD', lane .. ':leases', 'XX', now_ms() + ARGV[3], lease_of(run, ARGV[2]))
return 'kept'
"""
)

FINISH = (
    _PRELUDE
    + """
-- ARGV: id, token, outcome, attempt, retry (1/0), max attempts, back-off ms, max lost, tasks, task seconds,
-- job seconds, bucket of these, what is said of a copy that was slower
local id, token, run = ARGV[1], ARGV[2], run_of(ARGV[1])
if not run or not run.holders[token] then return false end
local job, now = run.job, now_ms()
sum('tasks', ARGV[9])
sum('task_seconds', ARGV[10])
local outcome = ARGV[3]
if outcome == 'killed' then
  lose(run, token, now, 'lost', tonumber(ARGV[8]), '', outcome)
  redis.call('HSET', job, 'a:' .. token, ARGV[4])
  return redis.call('HGET', job, 'state')
end
redis.call('HSET', x, 'ended_ms', wall_ms())
local begun = cjson.decode(redis.call('HGET', job, 'a:' .. token))
span(run, begun, begun['started_at'] + ARGV[11], outcome)
redis.call('HSET', job, 'a:' .. token, ARGV[4])
if outcome == 'accomplished' then
  measure('d:' .. ARGV[12], ARGV[11])
  local at_end = redis.call('ZCARD', lane .. ':leases')
  local at_start = tonumber(redis.call('HGET', job, 'busy') or at_end)
  measure(string.format('c:%d', math.floor((at_start + at_end + 1) / 2)), ARGV[11])
  if leave(run, token) then
    local slower = next(run.holders)
    close(run, slower, 'cancelled', ARGV[13], now)
    leave(run, slower)
  end
  move(id, 'running', 'accomplished')
  sum('job_seconds', ARGV[11])
  return 'accomplished'
end
if outcome ~= 'cancelled' then measure('u', ARGV[11]) end
local over = outcome == 'cancelled' or cancelled()
local again = not over and ARGV[5] == '1' and redis.call('HINCRBY', job, 'failures', 1) < tonumber(ARGV[6])
if leave(run, token, not over and not again) then return 'running' end
if over then
  move(id, 'running', 'cancelled')
elseif again and not run.spent then
  requeue(id, now + ARGV[7])
else
  move(id, 'running', 'failed')
end
return redis.call('HGET', job, 'state')
"""
)

REAP = (
    _PRELUDE
    + """
-- ARGV: limit, max lost, reason, lease in ms, reason where the whole node went, how often that may be
local now, silent, lost = now_ms(), ARGV[4] / 2, {}
local function expiring(until_ms)
  local found = {}
  for _, lease in ipairs(redis.call('ZRANGEBYSCORE', lane .. ':leases', '-inf', until_ms, 'LIMIT', 0, ARGV[1])) do
    local id, token = string.match(lease, '^(%S+) (%d+)$')
    local run = run_of(id or lease)
    token = token or run and run.token
    if run and run.holders[token] then
      local node = cjson.decode(redis.call('HGET', run.job, 'a:' .. token))['node']
      found[#found + 1] = {run = run, token = token, node = node}
    else redis.call('ZREM', lane .. ':leases', lease) end
  end
  return found
end
local over, on_node = expiring(now), {}
-- Leases of a node that went run out one after the other: those next in turn count, and those before.
for _, one in ipairs(#over > 0 and expiring(now + silent) or {}) do on_node[one.node] = (on_node[one.node] or 0) + 1 end
for _, one in ipairs(over) do
  local went = redis.call('HGET', x, 'went:' .. one.node)
  local blame, most, reason = 'lost', tonumber(ARGV[2]), ARGV[3]
  if on_node[one.node] > 1 or (went and now - went < silent) then
    blame, most, reason = 'gone', tonumber(ARGV[6]), ARGV[5]
    redis.call('HSET', x, 'went:' .. one.node, now)
  end
  if not lose(run_of(one.run.id), one.token, now, blame, most, reason) then lost[#lost + 1] = one.run.id end
end
if redis.call('ZCARD', lane .. ':running') > redis.call('ZCARD', lane .. ':leases') then
  for _, id in ipairs(redis.call('ZRANGE', lane .. ':running', 0, -1)) do  -- what no script of these leaves behind
    local run = run_of(id)
    if run and not run.copies and not redis.call('ZSCORE', lane .. ':leases', id) then
      redis.call('ZADD', lane .. ':leases', now, id)
    end
  end
end
return lost
"""
)

HEDGE = (
    _PRELUDE
    + """
-- ARGV: id
local run = run_of(ARGV[1])
if not run or (run.hedge and run.hedge ~= 'open') or redis.call('HGET', x, 'state') ~= 'running' then return 0 end
redis.call('HSET', run.job, 'hedge', 'open')
return 1
"""
)

RELEASE = (
    _PRELUDE
    + """
-- ARGV: container ('' for all), reason, what such losses are counted as, how many are the most
local now, lost = now_ms(), {}
for _, id in ipairs(redis.call('ZRANGE', lane .. ':running', 0, -1)) do
  local run, gone = run_of(id), {}
  for token, container in pairs(run.holders) do
    if ARGV[1] == '' or container == ARGV[1] then gone[#gone + 1] = token end
  end
  for _, token in ipairs(gone) do
    if not lose(run, token, now, ARGV[3], tonumber(ARGV[4]), ARGV[2]) then lost[#lost + 1] = id end
  end
end
return lost
"""
)

DUE = (
    _PRELUDE
    + """
-- ARGV: limit
local ids = redis.call('ZRANGEBYSCORE', lane .. ':due', '-inf', now_ms(), 'LIMIT', 0, ARGV[1])
if #ids > 0 then redis.call('ZREM', lane .. ':due', unpack(ids)) end
return ids
"""
)

MOVE_MANY = (
    _PRELUDE
    + """
-- ARGV: from, to, limit. Between 'queued' and the terminal states, never from 'running'.
local ids = redis.call('ZRANGE', lane .. ':' .. ARGV[1], 0, ARGV[3] - 1)
local now = now_ms()
for _, id in ipairs(ids) do
  move(id, ARGV[1], ARGV[2])
  redis.call('ZREM', lane .. ':due', id)
  if ARGV[2] == 'queued' then
    redis.call('HSET', job_key(id), 'failures', 0, 'lost', 0, 'gone', 0, 'not_before', 0)
    redis.call('HDEL', job_key(id), 'hedge')
    redis.call('ZADD', lane .. ':due', now, id)
  end
end
return #ids
"""
)

COUNTS = """
-- KEYS: the hashes of experiments; ARGV: the states. How many jobs of each are in each state, one after the other.
local sizes = {}
for _, base in ipairs(KEYS) do
  for _, state in ipairs(ARGV) do sizes[#sizes + 1] = redis.call('ZCARD', base .. ':' .. state) end
end
return sizes
"""
