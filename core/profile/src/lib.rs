//! The document users write, resolved into a Plan
