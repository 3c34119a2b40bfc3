"""Amazon SES: what it is asked, and what its answers say of a message."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from botocore.parsers import ResponseParserError

from queries_orchestration.communications import open_communications
from queries_orchestration.communications.interface import Communications, Message, message_id
from queries_orchestration.communications.ses import message_id_of, tag_of
from queries_orchestration.communications.ses_client import ask
from queries_orchestration.communications.ses_url import SesPlace, read_ses_url
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    InvalidSettings,
    QueriesError,
    RecipientRefused,
    SubmissionUncertain,
)
from queries_orchestration.model.public_url import message_domain
from queries_orchestration_tests.communications.raw_servers import answer, http, running_raw
from queries_orchestration_tests.communications.ses_stub import SesStub, running_ses

NOW = datetime(2026, 5, 4, 5, tzinfo=UTC)
MESSAGE = Message(
    communication_key="o1.ann",
    recipient_name="Ann",
    recipient_address="ann@e.test",
    subject="Sales",
    text="Hello\n",
    html="<p>Hello</p>",
    message_id=message_id("o1.ann", "q.example.org"),
)
NOT_VERIFIED = (
    "Email address is not verified. The following identities failed the check in region"
    " EU-CENTRAL-1: r@q.example.org"
)
LATER = CommunicationsUnavailable


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")


@pytest.fixture
def stub() -> Iterator[SesStub]:
    with running_ses() as running:
        yield running


def opened(url: str, *, seconds: float = 5, sender: str = "Us <r@q.example.org>") -> Communications:
    return open_communications(url, from_address=sender, clock=lambda: NOW, answer_seconds=seconds)


def ses(stub: SesStub, options: str = "", **more: str) -> Communications:
    return opened(f"ses://eu-central-1?endpoint={stub.url}{options}", **more)  # type: ignore[arg-type]


def test_a_message_is_asked_for_with_its_tag_and_configuration_set(stub: SesStub) -> None:
    ses(stub, "&configuration_set=reports").submit(MESSAGE, seconds=20)
    (body,) = stub.bodies
    assert body["FromEmailAddress"] == "r@q.example.org"
    assert body["Destination"] == {"ToAddresses": ["ann@e.test"]}
    assert body["ConfigurationSetName"] == "reports"
    (tag,) = body["EmailTags"]
    assert tag["Name"] == "queries-message"
    assert message_id_of(tag["Value"]) == MESSAGE.message_id
    assert len(tag["Value"]) <= 256


@pytest.mark.parametrize("tag", ["", "!", "é", "AA A", "_-8"])
def test_what_is_no_tag_of_ours_names_no_message(tag: str) -> None:
    assert message_id_of(tag) != MESSAGE.message_id


def test_a_tag_is_the_message_id_in_letters_digits_and_dashes() -> None:
    tag = tag_of(MESSAGE.message_id)
    assert tag.replace("-", "").replace("_", "").isalnum()
    assert message_id_of(tag) == MESSAGE.message_id


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((400, "MessageRejected", "Address <ann@e.test> blocked"), RecipientRefused, "blocked"),
        ((400, "MessageRejected", NOT_VERIFIED), LATER, "verify QUERIES_FROM_ADDRESS"),
        ((400, "BadRequestException", "Illegal address"), RecipientRefused, "Illegal address"),
        ((400, "MailFromDomainNotVerifiedException", "x"), LATER, "verify the domain"),
        ((400, "AccountSuspendedException", "x"), LATER, "may not send"),
        ((400, "SendingPausedException", "x"), LATER, "paused"),
        ((400, "LimitExceededException", "x"), LATER, "later"),
        ((404, "NotFoundException", "x"), LATER, "configuration_set"),
        ((403, "AccessDeniedException", "arn:secret"), LATER, "rights"),
        ((403, "UnrecognizedClientException", "x"), LATER, "AWS_ACCESS_KEY_ID"),
        ((429, "TooManyRequestsException", "x"), LATER, "too often"),
        ((500, "InternalFailure", "x"), LATER, "later"),
        ((503, "ServiceUnavailable", "x"), LATER, "later"),
        ((502, "BadGateway", "x"), SubmissionUncertain, "may have taken"),
        ((504, "Timeout", "x"), SubmissionUncertain, "may have taken"),
        ("drop", SubmissionUncertain, "may have taken"),
    ],
)
def test_what_ses_says_is_final_for_the_recipient_or_for_now_or_unknown(
    stub: SesStub, answer: tuple[int, str, str] | str, error: type[QueriesError], said: str
) -> None:
    stub.answers.append(answer)
    with pytest.raises(error) as told:
        ses(stub).submit(MESSAGE, seconds=20)
    assert said in told.value.message
    for secret in ("ann@e.test", "arn:secret", "very-secret"):
        assert secret not in told.value.message
    # One request: boto3 by itself tries nothing twice.
    assert len(stub.bodies) == (1 if answer == "drop" else 0)
    assert stub.answers == []


def test_an_address_beyond_ascii_is_refused_without_asking(stub: SesStub) -> None:
    with pytest.raises(RecipientRefused, match="before the @"):
        ses(stub).submit(replace(MESSAGE, recipient_address="jörg@e.test"), seconds=20)
    with pytest.raises(CommunicationsUnavailable, match="QUERIES_FROM_ADDRESS"):
        ses(stub, sender="jörg@q.example.org").submit(MESSAGE, seconds=20)
    assert stub.bodies == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("500 Oops", b"null"),
        ("400 Bad Request", b"[]"),
        ("200 OK", b"<html>captive portal</html>"),
        ("200 OK", b"{}"),
        ("200 OK", b'{"MessageId": ""}'),
        ("200 OK", b"null"),
        ("200 OK", b'{"Mess'),
    ],
)
def test_an_answer_that_is_none_of_ses_leaves_it_unknown(status: str, body: bytes) -> None:
    with running_raw(http(answer(status, body))) as port:
        communications = opened(f"ses://eu-central-1?endpoint=http://127.0.0.1:{port}")
        with pytest.raises(SubmissionUncertain, match="may have taken"):
            communications.submit(MESSAGE, seconds=20)


def test_an_answer_that_botocore_cannot_parse_leaves_it_unknown() -> None:
    def tripping(**_: object) -> None:
        raise ResponseParserError("x")

    with pytest.raises(SubmissionUncertain, match="cannot be read"):
        ask(tripping, seconds=5)


@pytest.mark.parametrize(("pause", "seconds", "patience"), [(0.5, 2, 5), (30, 20, 0.2)])
def test_an_answer_that_does_not_come_in_time_leaves_it_unknown(
    pause: float, seconds: float, patience: float
) -> None:
    """Whether it drips in or is not there at all."""
    with running_raw(http(answer("200 OK", b"{}"), pause=pause)) as port:
        url = f"ses://eu-central-1?endpoint=http://127.0.0.1:{port}"
        begun = time.monotonic()
        with pytest.raises(SubmissionUncertain, match="may have taken"):
            opened(url, seconds=patience).submit(MESSAGE, seconds=seconds)
        assert time.monotonic() - begun < 6


def test_the_tag_of_the_longest_message_id_is_one() -> None:
    domain = message_domain(f"https://{'a' * 60}.{'b' * 60}.{'c' * 24}.de", "q.example.org")
    assert len(domain) > 100
    assert len(tag_of(message_id("o1.ann", domain))) <= 256


def test_a_region_out_of_reach_is_for_now() -> None:
    with running_ses() as gone:
        url = gone.url
    with pytest.raises(CommunicationsUnavailable, match="cannot be reached"):
        opened(f"ses://eu-central-1?endpoint={url}").submit(MESSAGE, seconds=20)


def test_without_credentials_it_says_where_they_belong(
    stub: SesStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(CommunicationsUnavailable, match="standard AWS environment"):
        ses(stub).submit(MESSAGE, seconds=20)


def test_an_account_that_may_not_send_is_found_without_sending(stub: SesStub) -> None:
    ses(stub).check(seconds=20)
    stub.account["SendingEnabled"] = False
    with pytest.raises(CommunicationsUnavailable, match="may not send"):
        ses(stub).check(seconds=20)
    assert stub.bodies == []


def test_a_url_names_a_region() -> None:
    place = read_ses_url(urlsplit("ses://us-gov-west-1?configuration_set=a_B-1"))
    assert place == SesPlace(region="us-gov-west-1", configuration_set="a_B-1")


@pytest.mark.parametrize(
    "url",
    [
        "ses://",
        "ses://europe",
        "ses://key:secret@eu-central-1",
        "ses://eu-central-1/secret",
        "ses://eu-central-1#secret",
        "ses://eu-central-1?configuration_set=",
        "ses://eu-central-1?configuration_set=a.secret",
        "ses://eu-central-1?key=secret",
        "ses://eu-central-1?endpoint=secret",
        "ses://eu-central-1?endpoint=https://a:secret@b",
    ],
)
def test_a_url_of_no_region_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^QUERIES_COMMUNICATIONS_URL ") as refused:
        read_ses_url(urlsplit(url))
    assert "secret" not in refused.value.message
