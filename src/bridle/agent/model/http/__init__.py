"""An HTTP/1.1 client on asyncio and h11, with TLS and proxies. Imports nothing else of the agent."""
