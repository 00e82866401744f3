//! Seeded links and model devices under test in virtual time
