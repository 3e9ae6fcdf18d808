"""What the platform has, one file for each part; `client.sdk.Client` is all of them in one."""
