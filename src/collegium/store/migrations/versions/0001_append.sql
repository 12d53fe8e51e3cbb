-- Appends events in one round trip: the whole of a transaction, or a part of the caller's.
--
-- entries: a JSON array of {stream, expected_version, idempotency_key, id, type, schema_version,
-- payload, observed_at, commitments, texts}; payload and commitments are canonical JSON texts,
-- texts maps a field to {salt (hex), text}. Returns one row for each entry, in their order.
--
-- Locks: the heads of all streams in sorted order, then the ledger's one head, which is held until
-- the commit: so positions are given out in the order of commits, and a reader who has seen
-- position n will never find a smaller one later.
--
-- Raises CL001 (an idempotency key was used for other content) and CL002 (another version).
create function collegium.ledger_append(entries jsonb, at timestamptz)
returns setof collegium.events
language plpgsql
-- A session keeps its plans, and those made while the tables were small would scan them for ever.
set enable_seqscan = off
as $$
declare
    entry record;
    head collegium.streams;
    found_event collegium.events;
    event collegium.events;
    last_position bigint;
    ledger_time timestamptz;
    item record;
begin
    if jsonb_array_length(entries) > 1 then
        for entry in
            select distinct e ->> 'stream' collate "C" as stream
            from jsonb_array_elements(entries) e order by 1
        loop
            perform collegium.ledger_lock(entry.stream);
        end loop;
    end if;

    for entry in
        select * from jsonb_to_recordset(entries) as e (
            stream text, expected_version bigint, idempotency_key text, id uuid, type text,
            schema_version integer, payload text, observed_at timestamptz, commitments text,
            texts jsonb
        )
    loop
        head := collegium.ledger_lock(entry.stream);
        select * into found_event from collegium.events e
        where e.stream = entry.stream and e.idempotency_key = entry.idempotency_key;
        if found then
            if not collegium.ledger_same(
                found_event, entry.type, entry.schema_version, entry.payload, entry.texts
            ) then
                raise exception 'stream % has event % under the idempotency key %, with other content',
                    entry.stream, found_event.version, entry.idempotency_key
                    using errcode = 'CL001';
            end if;
            return next found_event;
            continue;
        end if;

        if head.version <> entry.expected_version then
            raise exception 'stream % is at version %, not at the expected %',
                entry.stream, head.version, entry.expected_version
                using errcode = 'CL002';
        end if;
        if last_position is null then
            select l.position, greatest(l.recorded_at, at) into last_position, ledger_time
            from collegium.ledger l for update;
        end if;

        last_position := last_position + 1;
        event.position := last_position;
        event.version := head.version + 1;
        event.id := entry.id;
        event.observed_at := entry.observed_at;
        event.recorded_at := ledger_time;
        event.schema_version := entry.schema_version;
        event.stream := entry.stream;
        event.type := entry.type;
        event.idempotency_key := entry.idempotency_key;
        event.payload := entry.payload;
        event.commitments := entry.commitments;
        event.hash := sha256(head.hash || collegium.ledger_frame(event));
        insert into collegium.events select event.*;
        update collegium.streams s set version = event.version, hash = event.hash
        where s.stream = event.stream;
        for item in select * from jsonb_each(entry.texts)
        loop
            insert into collegium.texts
            values (event.position, item.key, decode(item.value ->> 'salt', 'hex'),
                    item.value ->> 'text');
        end loop;
        return next event;
    end loop;

    if last_position is not null then
        update collegium.ledger set position = last_position, recorded_at = ledger_time;
    end if;
end
$$;

-- Locks the head of a stream, which is made if it is new, and returns it.
create function collegium.ledger_lock(name text) returns collegium.streams
language plpgsql
as $$
declare
    head collegium.streams;
begin
    select * into head from collegium.streams s where s.stream = name for update;
    if not found then
        insert into collegium.streams values (name, 0, decode(repeat('00', 32), 'hex'))
        on conflict do nothing;
        select * into strict head from collegium.streams s where s.stream = name for update;
    end if;
    return head;
end
$$;

-- The bytes of an event that are hashed: each column but the hash as four bytes of length and its
-- binary form, big-endian. It is what COPY (FORMAT BINARY) sends for the same columns.
create function collegium.ledger_frame(e collegium.events) returns bytea
language sql immutable
as $$
    select '\x00000008'::bytea || int8send(e.position)
        || '\x00000008' || int8send(e.version)
        || '\x00000010' || uuid_send(e.id)
        || '\x00000008' || timestamptz_send(e.observed_at)
        || '\x00000008' || timestamptz_send(e.recorded_at)
        || '\x00000004' || int4send(e.schema_version)
        || int4send(octet_length(e.stream)) || textsend(e.stream)
        || int4send(octet_length(e.type)) || textsend(e.type)
        || int4send(octet_length(e.idempotency_key)) || textsend(e.idempotency_key)
        || int4send(octet_length(e.payload)) || textsend(e.payload)
        || int4send(octet_length(e.commitments)) || textsend(e.commitments)
$$;

-- Whether an entry repeats the event: the same type, payload and texts. Times are no content (a
-- retry comes later), and a text that was erased since is not compared.
create function collegium.ledger_same(
    e collegium.events, type text, schema_version integer, payload text, texts jsonb
) returns boolean
language sql stable
as $$
    select e.type = ledger_same.type
        and e.schema_version = ledger_same.schema_version
        and e.payload = ledger_same.payload
        and array(select jsonb_object_keys(e.commitments::jsonb) order by 1)
            = array(select jsonb_object_keys(ledger_same.texts) order by 1)
        and not exists (
            select from collegium.texts t
            where t.position = e.position
                and t.text <> ledger_same.texts -> t.field ->> 'text'
        )
$$;
