"""The `loop/onboarding` package."""
