-- Appending to the ledger: the whole of a transaction in one round trip, or a part of the caller's.
--
-- new_payload and new_commitments are canonical JSON texts; new_texts maps a field to {salt (hex),
-- text}. Returns the event, or the first one that was appended under the same key.
--
-- The ledger's one row is locked first and until the commit. So positions are given out in the order
-- of commits, and a reader who has seen position n will never find a smaller one later; and what is
-- read of the stream afterwards is what it stays at. There being one lock, nobody waits in a circle.
--
-- Raises CL001 (the idempotency key was used for other content) and CL002 (another version).
create function collegium.ledger_append(
    new_stream text, expected_version bigint, new_key text, new_id uuid, new_type text,
    new_schema_version integer, new_payload text, new_observed_at timestamptz,
    new_commitments text, new_texts jsonb, at timestamptz
) returns collegium.events
language plpgsql
as $$
declare
    event collegium.events;
    first_event collegium.events;
    previous bytea;
begin
    update collegium.ledger l
    set position = l.position + 1, recorded_at = greatest(l.recorded_at, at)
    returning l.position, l.recorded_at into event.position, event.recorded_at;

    select e.version, e.hash into event.version, previous from collegium.events e
    where e.stream = new_stream order by e.version desc limit 1;
    if not found then
        event.version := 0;
        previous := '\x0000000000000000000000000000000000000000000000000000000000000000';
    end if;
    if event.version <> expected_version then
        first_event := collegium.ledger_first(
            new_stream, new_key, new_type, new_schema_version, new_payload, new_texts
        );
        if first_event.position is null then
            raise exception 'stream % is at version %, not at the expected %',
                new_stream, event.version, expected_version using errcode = 'CL002';
        end if;
        update collegium.ledger l set position = l.position - 1;
        return first_event;
    end if;

    event.version := event.version + 1;
    event.id := new_id;
    event.observed_at := new_observed_at;
    event.schema_version := new_schema_version;
    event.stream := new_stream;
    event.type := new_type;
    event.idempotency_key := new_key;
    event.payload := new_payload;
    event.commitments := new_commitments;
    event.hash := sha256(previous || collegium.ledger_frame(event));
    insert into collegium.events values (
        event.position, event.version, event.id, event.observed_at, event.recorded_at,
        event.schema_version, event.stream, event.type, event.idempotency_key, event.payload,
        event.commitments, event.hash
    ) on conflict (stream, idempotency_key) do nothing;
    if not found then
        update collegium.ledger l set position = l.position - 1;
        return collegium.ledger_first(
            new_stream, new_key, new_type, new_schema_version, new_payload, new_texts
        );
    end if;
    if new_commitments <> '{}' then
        insert into collegium.texts
        select event.position, t.key, decode(t.value ->> 'salt', 'hex'), t.value ->> 'text'
        from jsonb_each(new_texts) t;
    end if;
    return event;
end
$$;

-- Appends several events, in their order; entries is a JSON array of {stream,
-- idempotency_key, id, type, schema_version, payload, observed_at, commitments, texts}.
create function collegium.ledger_append_batch(entries jsonb, at timestamptz)
returns setof collegium.events
language plpgsql
as $$
declare
    entry record;
    event collegium.events;
begin
    for entry in
        select * from jsonb_to_recordset(entries) as e (
            stream text, idempotency_key text, id uuid, type text, schema_version integer,
            payload text, observed_at timestamptz, commitments text, texts jsonb
        )
    loop
        event := collegium.ledger_append(
            entry.stream, null, entry.idempotency_key, entry.id, entry.type, entry.schema_version,
            entry.payload, entry.observed_at, entry.commitments, entry.texts, at
        );
        return next event;
    end loop;
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

-- The event that was appended under a key, null if there is none; CL001 if it is another one. Times
-- are no content (a retry comes later), and a text that was erased since is not compared.
create function collegium.ledger_first(
    new_stream text, new_key text, new_type text, new_schema_version integer, new_payload text,
    new_texts jsonb
) returns collegium.events
language plpgsql
as $$
declare
    event collegium.events;
begin
    select * into event from collegium.events e
    where e.stream = new_stream and e.idempotency_key = new_key;
    if event.type <> new_type
        or event.schema_version <> new_schema_version
        or event.payload <> new_payload
        or array(select jsonb_object_keys(event.commitments::jsonb) order by 1)
            <> array(select jsonb_object_keys(new_texts) order by 1)
        or exists (
            select from collegium.texts t
            where t.position = event.position and t.text <> new_texts -> t.field ->> 'text'
        )
    then
        raise exception 'stream % has event % under the idempotency key %, with other content',
            new_stream, event.version, new_key using errcode = 'CL001';
    end if;
    return event;
end
$$;
