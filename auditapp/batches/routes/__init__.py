"""How calls reach a provider: live, through the provider's batch service, or as files."""
