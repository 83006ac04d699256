"""Single sign-on by OpenID Connect: authorization code with PKCE, at one provider."""
