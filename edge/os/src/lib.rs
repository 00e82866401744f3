//! Clock, pinning, link facts and the doctor's checks
