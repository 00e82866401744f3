-- Trials of sessions have their application where others have frames, as their findings do.
UPDATE trial SET
    frame = json_extract(request, '$.kind.app.name') || ' ' || json_extract(request, '$.kind.app.response_bytes') || 'B',
    frame_bytes = NULL
WHERE json_extract(request, '$.kind.type') = 'sessions' AND json_extract(request, '$.kind.app.name') IS NOT NULL;
