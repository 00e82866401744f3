-- What trials that can't be judged suggest.
ALTER TABLE finding ADD COLUMN indicative REAL;
