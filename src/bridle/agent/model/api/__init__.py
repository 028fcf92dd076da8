"""The Messages API: requests, streamed answers, errors, retries and costs. Imports only `model.http` of the agent."""
