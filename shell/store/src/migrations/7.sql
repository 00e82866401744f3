-- Whether what was asked of the trial holds: `passed`, `failed` or `cannot_judge`.
ALTER TABLE trial ADD COLUMN overall TEXT;
UPDATE trial SET overall = json_extract(result, '$.overall.outcome');
