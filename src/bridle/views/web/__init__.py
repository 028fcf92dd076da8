"""The web page of `bridle watch`: a server on loopback. Imports views.run_data, and starlette and uvicorn late.

`guard` decides which requests are answered, `app` and the routes answer them, `stream` sends what changes, `actions`
starts the `bridle` commands that act. No other module of Bridle imports this package but the command.
"""
