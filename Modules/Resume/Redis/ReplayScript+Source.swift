#if Redis
    extension ReplayScript {
        /// The script's source. Redis runs a script atomically: no other client sees or does anything in between, and
        /// replicas and the append-only file get all of its writes or none. The first part is the fence described at
        /// `RedisReplayBuffer`.
        ///
        /// An entry's ID is its number, followed by the time of the append in milliseconds.
        static let source = """
            local home, meta, stream, values, senders = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
            local operation, fresh, known, knownCount = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
            local trustsDisk, skew, idle = ARGV[5] == '1', tonumber(ARGV[6]), ARGV[7]
            local limit = {count = tonumber(ARGV[8]), bytes = tonumber(ARGV[9]), age = tonumber(ARGV[10])}
            local channel, list, before, names = ARGV[11], ARGV[12], ARGV[13], ARGV[14]

            local function whole(number) return string.format('%.0f', number) end

            local replication = redis.call('INFO', 'replication')
            local function field(name) return string.match(replication, '\\n' .. name .. ':([^\\r\\n]*)') end
            if field('role') ~= 'master' then return redis.error_reply('READONLY this server follows another') end
            local server = field('master_replid')
            local clock = redis.call('TIME')
            local now = clock[1] * 1000 + math.floor(clock[2] / 1000) + skew

            local was = redis.call('HMGET', home, 'server', 'incarnation', 'count', 'list', 'before', 'names')
            local present = {was[4] or '0', was[5] or '0', was[6] or '0'}
            local isOld = tonumber(list) < tonumber(present[1]) or (list == present[1] and names ~= present[3])
            if isOld and operation ~= 'list' then
              return redis.error_reply('LIST another process uses other shards')
            end

            -- The fence.
            local isBehind = was[2] == known and tonumber(was[3]) < knownCount
            local isAnother = was[1] ~= server
            local continues = trustsDisk and string.find(field('master_replid2') or '', '^0+$')
              and string.find(redis.call('INFO', 'persistence'), 'aof_enabled:1')
            if not was[2] or isBehind or (isAnother and not continues) then
              redis.call('DEL', home)
              was = {server, fresh, '0'}
              -- 'bytes' is for older gateways on the same Redis.
              redis.call('HSET', home, 'server', server, 'incarnation', fresh, 'count', '0', 'bytes', '0')
              redis.call('HSET', home, 'list', present[1], 'before', present[2], 'names', present[3])
            elseif isAnother then
              redis.call('HSET', home, 'server', server)
            end
            local incarnation, count = was[2], tonumber(was[3])
            if operation == 'list' then return {incarnation, whole(count), unpack(present)} end
            if list ~= present[1] then redis.call('HSET', home, 'list', list, 'before', before, 'names', names) end
            if operation == 'tail' then return {incarnation, whole(count)} end

            local function weight(fields)
              local sum = 0
              for index = 2, #fields, 2 do sum = sum + #fields[index] end
              return sum
            end

            -- The sender of a queued message: base64 of its ID, as far as no other byte is part of it.
            local function sender(fields)
              if fields[2] == 'PACKET' then return string.sub(fields[4], 2, 43) end
            end

            -- Counts what each sender has in a mailbox' queue. What older gateways append is not counted.
            local hasSenders
            local function note(fields, sign)
              if sign < 0 and hasSenders == nil then hasSenders = redis.call('EXISTS', senders) == 1 end
              local name = (hasSenders or sign > 0) and sender(fields)
              if not name then return end
              local left = redis.call('HINCRBY', senders, name, sign)
              redis.call('HINCRBY', senders, 'bytes/' .. name, whole(sign * weight(fields)))
              if left <= 0 then redis.call('HDEL', senders, name, 'bytes/' .. name) end
            end

            -- Removes what exceeds the limits, and notes when the oldest event came. Returns how many bytes are left.
            local oldest = now
            local function trim(bytes)
              local length, from, last = redis.call('XLEN', stream), '-', nil
              oldest = now
              if length == 0 then return 0 end
              while length > 0 do
                local first = redis.call('XRANGE', stream, from, '+', 'COUNT', 1)[1]
                if not first then break end
                local exceeds = length > limit.count or (bytes > limit.bytes and length > 1)
                oldest = tonumber(string.match(first[1], '%d+$'))
                if not exceeds and now - oldest <= limit.age then break end
                note(first[2], -1)
                bytes, length, last, from = bytes - weight(first[2]), length - 1, first[1], '(' .. first[1]
              end
              if last then
                local number, time = string.match(last, '^(%d+)-(%d+)$')
                redis.call('XTRIM', stream, 'MINID', number .. '-' .. whole(math.min(tonumber(time) + 1, 2 ^ 53)))
              end
              return bytes
            end

            local is = redis.call('HMGET', meta, 'incarnation', 'epoch', 'newest', 'bytes', 'length', 'oldest', 'kept', 'list')
            -- A stream that was last used under an earlier list may have been on another shard since.
            local mayHaveMoved = is[8] ~= list and (is[8] or '0') ~= before
            if is[1] ~= incarnation or mayHaveMoved then
              redis.call('DEL', meta, stream, values, senders)
              is = {incarnation, fresh, '0', '0'}
              redis.call('HSET', meta, 'incarnation', incarnation, 'epoch', fresh, 'newest', '0', 'bytes', '0', 'list', list)
            elseif is[8] ~= list then
              redis.call('HSET', meta, 'list', list)
            end
            local epoch, newest, bytes = is[2], tonumber(is[3]), tonumber(is[4])

            -- Notifies every process that serves the stream. Number 0 is a change other than an event.
            local function notify(number, kind, bytes)
              redis.call('HSET', home, 'count', whole(count + 1))
              redis.call('PUBLISH', channel, epoch .. '\\n' .. number .. '\\n' .. kind .. '\\n' .. bytes)
              count = count + 1
            end

            -- The common append: nothing exceeds a limit, so nothing goes. `length` may count evicted events too, which only
            -- leads to the general case below, earlier. Keys expire a tenth later than they must, so that not every append
            -- has to prolong them.
            local kept = tonumber(is[7] or '0')
            if operation == 'append' and is[5] then
              local kind, json, length = ARGV[16], ARGV[17], tonumber(is[5]) + 1
              bytes = bytes + #kind + #json
              local isWithin = length <= limit.count and bytes <= limit.bytes and now - tonumber(is[6]) <= limit.age
              if isWithin and now >= kept and (now - kept) * 10 <= math.min(limit.age, tonumber(idle)) then
                local number = whole(newest + 1)
                local id = number .. '-' .. whole(now)
                -- Not if Redis has evicted the stream: a new key needs a time to expire.
                if redis.call('XADD', stream, 'NOMKSTREAM', id, 't', kind, 'j', json) then
                  redis.call('HSET', meta, 'newest', number, 'bytes', whole(bytes), 'length', whole(length))
                  notify(number, kind, json)
                  return {incarnation, whole(count), epoch, number, math.min(length, newest + 1), {}}
                end
              end
              bytes = tonumber(is[4])
            end

            local function prolong(key, time) redis.call('PEXPIRE', key, whole(tonumber(time) * 1.1 + 1000)) end

            prolong(meta, idle)
            bytes = trim(bytes)

            local found = {}
            if operation == 'set' then
              local name, value, valuesMax, bytesMax = ARGV[16], ARGV[17], tonumber(ARGV[18]), tonumber(ARGV[19])
              local shareMax, shareBytesMax = tonumber(ARGV[20]), tonumber(ARGV[21])
              local owner = string.match(name, '^latest/([^/]*)')
              local held = tonumber(redis.call('HGET', meta, 'held') or '0')
              local added = #value - redis.call('HSTRLEN', values, name)
              local new = 1 - redis.call('HEXISTS', values, name)
              local number = redis.call('HLEN', values) + new

              -- What the same sender holds, or the mailbox' owner.
              local function share()
                local own, bytes = new, added
                for _, other in ipairs(redis.call('HKEYS', values)) do
                  if string.match(other, '^latest/([^/]*)') == owner then
                    own, bytes = own + 1, bytes + redis.call('HSTRLEN', values, other)
                  end
                end
                return own, bytes
              end

              local isFull = held + added > bytesMax or number > valuesMax
              if owner and not isFull and (held + added > shareBytesMax or number > shareMax) then
                local own, bytes = share()
                isFull = bytes > shareBytesMax or own > shareMax
              elseif not owner and isFull then
                -- Senders can't take the owner's room.
                local own, bytes = share()
                isFull = bytes > bytesMax or own > valuesMax
              end
              if isFull then
                found = {'full'}
              else
                redis.call('HSET', values, name, value)
                held = held + added
                if name == 'admitted' then
                  local admitted, isMissing = {}, false
                  for index = 22, #ARGV do admitted[ARGV[index]] = true end
                  for _, other in ipairs(redis.call('HKEYS', values)) do
                    local from = string.match(other, '^latest/([^/]*)')
                    if from and not admitted[from] then
                      held = held - redis.call('HSTRLEN', values, other)
                      redis.call('HDEL', values, other)
                    end
                  end
                  for _, from in ipairs(redis.call('HKEYS', senders)) do
                    if #from == 42 and not admitted[from] then
                      isMissing = true
                      redis.call('HDEL', senders, from, 'bytes/' .. from)
                    end
                  end
                  if isMissing then
                    -- Numbers have no gap, so the contents go and the numbers stay.
                    local kept = redis.call('XRANGE', stream, '-', '+')
                    redis.call('DEL', stream)
                    for _, entry in ipairs(kept) do
                      local fields, from = entry[2], sender(entry[2])
                      if from and not admitted[from] then
                        bytes = bytes - weight(fields)
                        fields = {'t', 'REMOVED', 'j', ''}
                        bytes = bytes + weight(fields)
                      end
                      redis.call('XADD', stream, entry[1], unpack(fields))
                    end
                    prolong(stream, limit.age)
                  end
                end
                redis.call('HSET', meta, 'held', whole(held))
                notify('0', 'VALUE', name)
              end
            end

            -- A user's mailboxes: each with the time at which it was opened, nothing for those that older gateways have opened.
            if operation == 'enrol' then
              local mailbox, max = ARGV[16], tonumber(ARGV[17])
              if redis.call('HEXISTS', values, mailbox) == 0 and redis.call('HLEN', values) >= max then
                local places = redis.call('HGETALL', values)
                for index = 1, #places, 2 do
                  local opened = tonumber(places[index + 1])
                  if opened and now - opened > tonumber(idle) then redis.call('HDEL', values, places[index]) end
                end
                if redis.call('HLEN', values) >= max then found = {'full'} end
              end
              if not found[1] then redis.call('HSET', values, mailbox, whole(now)) end
            end
            if operation == 'leave' then redis.call('HDEL', values, ARGV[16]) end
            if operation == 'drop' then
              redis.call('DEL', meta, stream, values, senders)
              redis.call('HSET', meta, 'incarnation', incarnation, 'epoch', fresh, 'list', list)
              prolong(meta, idle)
              epoch, newest, bytes, hasSenders = fresh, 0, 0, false
              notify('0', 'VALUE', 'removed')
            end
            prolong(values, idle)
            if operation == 'values' then
              if ARGV[16] == '*' then
                found = redis.call('HGETALL', values)
              else
                for index = 17, #ARGV do
                  local value = redis.call('HGET', values, ARGV[index])
                  if value then
                    found[#found + 1] = ARGV[index]
                    found[#found + 1] = value
                  end
                end
              end
            end

            if operation == 'post' then
              local message = {'t', ARGV[16], 'j', ARGV[17]}
              local name, added, shares = sender(message), weight(message), tonumber(ARGV[18])
              local held = redis.call('HMGET', senders, name, 'bytes/' .. name)
              local isBeyond = (tonumber(held[1] or '0') + 1) * shares > limit.count
                or (tonumber(held[2] or '0') + added) * shares > limit.bytes

              -- The number up to which the owner has taken its messages: two big-endian numbers, epoch and sequence.
              local taken = 0
              local position = redis.call('HGET', values, 'taken')
              if position and #position == 16 then
                local function number(from)
                  local sum = 0
                  for index = from, from + 7 do sum = sum * 256 + string.byte(position, index) end
                  return sum
                end
                -- Lua's numbers are less exact than an epoch.
                if math.abs(number(1) - tonumber(epoch)) <= tonumber(epoch) * 1e-12 then taken = number(9) end
              end

              -- Nothing goes before it is certain that the message fits.
              local length, left, evicted, from = redis.call('XLEN', stream), bytes, {}, '-'
              operation = 'append'
              while length > 0 and (length >= limit.count or left + added > limit.bytes) do
                local oldest = redis.call('XRANGE', stream, from, '+', 'COUNT', 1)[1]
                local holder = sender(oldest[2])
                local mayGo = tonumber(string.match(oldest[1], '^%d+')) <= taken or not holder or holder == name
                  or redis.call('HEXISTS', senders, holder) == 0
                if isBeyond and not mayGo then
                  operation, found, evicted = 'refused', {'full'}, {}
                  break
                end
                evicted[#evicted + 1], from = oldest, '(' .. oldest[1]
                left, length = left - weight(oldest[2]), length - 1
              end
              for _, entry in ipairs(evicted) do note(entry[2], -1) end
              if #evicted > 0 then
                bytes = left
                local last = tonumber(string.match(evicted[#evicted][1], '^%d+'))
                redis.call('XTRIM', stream, 'MINID', whole(last + 1))
              end
              if operation == 'append' then
                note(message, 1)
                hasSenders = true
                prolong(senders, idle)
              end
            end

            if operation == 'append' then
              local kind, json = ARGV[16], ARGV[17]
              newest = newest + 1
              local number = whole(newest)
              redis.call('XADD', stream, 'MAXLEN', whole(limit.count + 1), number .. '-' .. whole(now), 't', kind, 'j', json)
              bytes = trim(bytes + #kind + #json)
              prolong(stream, limit.age)
              kept = now
              notify(number, kind, json)
            end
            local length, entries = redis.call('XLEN', stream), found
            redis.call(
              'HSET', meta, 'newest', whole(newest), 'bytes', whole(bytes), 'length', whole(length),
              'oldest', whole(oldest), 'kept', whole(kept))
            if operation == 'page' and ARGV[15] == epoch then
              local after, most = tonumber(ARGV[16]), tonumber(ARGV[17])
              if after < newest and after >= newest - length and most > 0 then
                entries = redis.call('XRANGE', stream, whole(after + 1), '+', 'COUNT', most)
              end
            end
            return {incarnation, whole(count), epoch, whole(newest), length, entries}
            """
    }
#endif
