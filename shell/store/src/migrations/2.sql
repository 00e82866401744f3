-- Where a search ends, and why a finding is not certain.
ALTER TABLE finding ADD COLUMN resolution REAL;
ALTER TABLE finding ADD COLUMN doubt TEXT;
