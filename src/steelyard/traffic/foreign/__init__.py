"""Records of other tools as impressions, events and answers: OpenSearch UBI, OpenTelemetry, Langfuse, Phoenix."""
