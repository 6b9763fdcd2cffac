"""Resources, prompts and completion of the conformance suite's fixtures."""

import json

from fixture_rounds import question, required
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    InputRequiredResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from media import PNG, base64_of, embedded

RESOURCES = [
    Resource(uri="test://static-text", name="text", description="A text", mime_type="text/plain"),
    Resource(uri="test://static-binary", name="binary", description="An image", mime_type="image/png"),
    Resource(uri="test://watched-resource", name="watched", description="One to watch", mime_type="text/plain"),
]
TEMPLATES = [
    ResourceTemplate(
        uri_template="test://template/{id}/data", name="data", description="By id", mime_type="application/json"
    )
]


def contents(uri: str) -> TextResourceContents | BlobResourceContents:
    """Read a fixture resource.

    Raises:
        MCPError: there is none at that address.
    """
    if uri == "test://static-text":
        text = "This is the content of the static text resource."
        return TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    if uri == "test://watched-resource":
        return TextResourceContents(uri=uri, mime_type="text/plain", text="Watched resource content")
    if uri == "test://static-binary":
        return BlobResourceContents(uri=uri, mime_type="image/png", blob=base64_of(PNG))
    if uri.startswith("test://template/") and uri.endswith("/data"):
        which = uri.removeprefix("test://template/").removesuffix("/data")
        text = json.dumps({"id": which, "templateTest": True, "data": f"Data for ID: {which}"})
        return TextResourceContents(uri=uri, mime_type="application/json", text=text)
    raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": uri})


def _argument(name: str) -> PromptArgument:
    return PromptArgument(name=name, description=f"The {name}", required=True)


PROMPTS = [
    Prompt(name="test_simple_prompt", description="A text", arguments=[]),
    Prompt(
        name="test_prompt_with_arguments",
        description="A text with arguments",
        arguments=[_argument("arg1"), _argument("arg2")],
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="An embedded resource",
        arguments=[_argument("resourceUri")],
    ),
    Prompt(name="test_prompt_with_image", description="An image", arguments=[]),
    Prompt(name="test_input_required_result_prompt", description="A prompt that asks first", arguments=[]),
]


def _messages(*blocks) -> GetPromptResult:
    texts = [TextContent(type="text", text=block) if isinstance(block, str) else block for block in blocks]
    return GetPromptResult(messages=[PromptMessage(role="user", content=text) for text in texts])


def prompted(params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    """Make a fixture prompt.

    Raises:
        MCPError: there is none of that name.
    """
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return _messages("This is a simple prompt for testing.")
        case "test_prompt_with_arguments":
            return _messages(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        case "test_prompt_with_embedded_resource":
            resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return _messages(resource, "Please process the embedded resource above.")
        case "test_prompt_with_image":
            image = ImageContent(type="image", data=base64_of(PNG), mime_type="image/png")
            return _messages(image, "Please analyze the image above.")
        case "test_input_required_result_prompt":
            if "user_context" in (params.input_responses or {}):
                return _messages("The context has come.")
            return required({"user_context": question("What context should the prompt use?", "context")})
    raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name!r}")


COMPLETED = CompleteResult(completion=Completion(values=["test"], total=1, has_more=False))
