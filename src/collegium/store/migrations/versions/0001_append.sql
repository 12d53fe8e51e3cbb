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
    head record;
begin
    update collegium.ledger l
    set position = l.position + 1, recorded_at = greatest(l.recorded_at, at)
    returning l.position, l.recorded_at into head;

    insert into collegium.events
    select head.position, last.version + 1, new_id, new_observed_at, head.recorded_at,
        new_schema_version, new_stream, new_type, new_key, new_payload, new_commitments,
        sha256(last.hash || collegium.ledger_frame(
            head.position, last.version + 1, new_id, new_observed_at, head.recorded_at,
            new_schema_version, new_stream, new_type, new_key, new_payload, new_commitments
        ))
    from (
        select coalesce(newest.version, 0) as version,
            coalesce(newest.hash, decode(repeat('00', 32), 'hex')) as hash
        from (values (1)) one
        left join lateral (
            select e.version, e.hash from collegium.events e
            where e.stream = new_stream order by e.version desc limit 1
        ) newest on true
    ) last
    where last.version = coalesce(expected_version, last.version)
    on conflict (stream, idempotency_key) do nothing
    returning * into event;

    if not found then
        update collegium.ledger l set position = l.position - 1;
        return collegium.ledger_first(
            new_stream, expected_version, new_key, new_type, new_schema_version, new_payload,
            new_texts
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
create function collegium.ledger_frame(
    place bigint, version bigint, id uuid, observed_at timestamptz, recorded_at timestamptz,
    schema_version integer, stream text, type text, idempotency_key text, payload text,
    commitments text
) returns bytea
language sql immutable
as $$
    select '\x00000008'::bytea || int8send(place)
        || '\x00000008' || int8send(version)
        || '\x00000010' || uuid_send(id)
        || '\x00000008' || timestamptz_send(observed_at)
        || '\x00000008' || timestamptz_send(recorded_at)
        || '\x00000004' || int4send(schema_version)
        || int4send(octet_length(stream)) || textsend(stream)
        || int4send(octet_length(type)) || textsend(type)
        || int4send(octet_length(idempotency_key)) || textsend(idempotency_key)
        || int4send(octet_length(payload)) || textsend(payload)
        || int4send(octet_length(commitments)) || textsend(commitments)
$$;

-- The event that was appended under a key before: CL001 if its content is another, CL002 if there is
-- none, for then the stream was not at the expected version. Times are no content (a retry comes
-- later), and a text that was erased since is not compared.
create function collegium.ledger_first(
    new_stream text, expected_version bigint, new_key text, new_type text,
    new_schema_version integer, new_payload text, new_texts jsonb
) returns collegium.events
language plpgsql
as $$
declare
    event collegium.events;
begin
    select * into event from collegium.events e
    where e.stream = new_stream and e.idempotency_key = new_key;
    if not found then
        raise exception 'stream % is at version %, not at the expected %', new_stream,
            (select coalesce(max(e.version), 0) from collegium.events e where e.stream = new_stream),
            expected_version using errcode = 'CL002';
    end if;
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
