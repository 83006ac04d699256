"""The description of the API: OpenAPI document, examples, links and the page that shows them."""
