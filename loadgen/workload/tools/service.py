"""Tools of assistants that serve customers: names, parameters and words of the usual kind, none of any product."""

from loadgen.workload.tools.tool import Parameter, Tool

__all__ = ["SERVICE"]

_ID = ("A10482", "A20931", "B77120", "C00417")
_CUSTOMER = Parameter("customer_id", "string", "Number of the customer.", _ID)
_ORDER = Parameter("order_id", "string", "Number of the order.", _ID)
_DATE = Parameter("date", "string", "The day, as YYYY-MM-DD.", ("2026-03-02", "2026-04-19", "2026-05-30"))

SERVICE: tuple[Tool, ...] = (
    Tool(
        "find_customer",
        "Find a customer by name, address or e-mail.",
        (Parameter("query", "string", "What is known of the customer.", ("Ada Nilsson", "Main Street 4")),),
        ("json",),
    ),
    Tool("get_order", "Return an order with its items, prices and state.", (_ORDER,), ("json",)),
    Tool(
        "list_orders",
        "List the orders of a customer, newest first.",
        (_CUSTOMER, Parameter("state", "string", "Only orders in this state.", ("open", "sent"), required=False)),
        ("json", "listing"),
    ),
    Tool(
        "cancel_order",
        "Cancel an order that has not been sent.",
        (_ORDER, Parameter("reason", "string", "Why it is cancelled.", ("ordered twice", "no longer needed"))),
        ("json",),
    ),
    Tool(
        "change_address",
        "Change where an order is sent.",
        (_ORDER, Parameter("address", "string", "The new address.", ("Harbour Road 12", "Mill Lane 3"))),
        ("json",),
    ),
    Tool(
        "search_products",
        "Search the catalogue and return products with prices.",
        (
            Parameter("query", "string", "What is searched for.", ("desk lamp", "office chair", "water bottle")),
            Parameter("max_price", "integer", "The highest price in whole units.", (20, 50, 200), required=False),
        ),
        ("json", "listing"),
    ),
    Tool(
        "check_stock",
        "Tell how many of a product are in stock, by warehouse.",
        (Parameter("product_id", "string", "Number of the product.", _ID),),
        ("json",),
    ),
    Tool(
        "create_return",
        "Open a return for items of an order and make a label for it.",
        (_ORDER, Parameter("items", "array", "Numbers of the items.", (("A10482",), ("B77120", "C00417")))),
        ("json",),
    ),
    Tool(
        "refund_payment",
        "Pay money back for an order.",
        (_ORDER, Parameter("amount", "integer", "The amount in cents.", (1299, 4500, 990))),
        ("json",),
    ),
    Tool("track_parcel", "Tell where a parcel is and when it will arrive.", (_ORDER,), ("json", "log")),
    Tool(
        "book_appointment",
        "Book a time with a technician.",
        (_CUSTOMER, _DATE, Parameter("hour", "integer", "The hour of the day, 8 to 17.", (9, 11, 14), False)),
        ("json",),
    ),
    Tool("list_appointments", "List the appointments of a day.", (_DATE,), ("listing", "json")),
    Tool(
        "send_message",
        "Send a message to a customer.",
        (_CUSTOMER, Parameter("text", "string", "The message.", ("Your parcel is on its way.",))),
        ("json",),
    ),
    Tool(
        "read_policy",
        "Return the house rules on a subject.",
        (Parameter("subject", "string", "The subject.", ("returns", "refunds", "warranty", "delivery")),),
        ("prose",),
    ),
    Tool(
        "open_ticket",
        "Open a ticket for a colleague, with everything that was tried.",
        (
            _CUSTOMER,
            Parameter("summary", "string", "What the matter is.", ("parcel lost", "paid twice")),
            Parameter("urgent", "boolean", "Whether it can't wait until tomorrow.", (True, False), required=False),
        ),
        ("json",),
    ),
)
