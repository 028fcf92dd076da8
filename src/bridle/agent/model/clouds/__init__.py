"""Bedrock and Vertex through the official client. Imports only `model.api` of the agent."""
