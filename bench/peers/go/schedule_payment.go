// crates/bank/src/patterns/schedule_payment.rs in Go: the path that is measured. It makes the same
// DynamoDB requests and returns the same response. Any other request fails.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type event struct {
	Headers        map[string]string
	PathParameters struct{ AccountID string }
	RequestContext struct {
		TimeEpoch  int64
		Authorizer struct {
			JWT struct {
				Claims struct {
					AccountIDs string `json:"account_ids"`
					Scope, Sub string
				}
			}
		}
	}
	Body string
}

type payment struct {
	ScheduledTime string
	Data          json.RawMessage
}

type item = map[string]types.AttributeValue

var (
	payments = os.Getenv("PAYMENTS_TABLE")
	client   = dynamodb.New(dynamodb.Options{
		Region:           os.Getenv("AWS_REGION"),
		EndpointResolver: dynamodb.EndpointResolverFromURL(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")),
		// Lambda's credentials do not change within a process, so no provider chain is needed.
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
		RetryMaxAttempts: 5,
	})
	cold = true
)

func schedule(event event) (any, error) {
	input, account, key := payment{}, event.PathParameters.AccountID, event.Headers["idempotency-key"]
	decoder := json.NewDecoder(strings.NewReader(event.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&input); err != nil || !isID(account) || !isID(key) || input.Data == nil {
		return nil, errors.New("invalid request")
	}
	due, err := time.Parse(time.RFC3339, input.ScheduledTime)
	claims := event.RequestContext.Authorizer.JWT.Claims
	if err != nil || !listed(claims.AccountIDs, account) && !listed(claims.Scope, "bank:operate") {
		return nil, errors.New("not allowed")
	}
	at := time.UnixMilli(event.RequestContext.TimeEpoch).UTC()
	if due.Truncate(24 * time.Hour).Before(at.Truncate(24 * time.Hour)) {
		return nil, errors.New("the day is over")
	}
	now, data := at.Format("2006-01-02T15:04:05Z"), string(input.Data)
	id := due.Format("20060102T150405Z") + "-" + uuid7(at.UnixMilli())
	author := types.AttributeValueMemberM{Value: item{"sub": text(claims.Sub), "scope": text("bank:write")}}
	record := item{
		"Request":   text(fingerprint(input.ScheduledTime, data, "")),
		"PaymentId": text(id), "CreatedAt": text(now), "ChangedBy": &author,
	}
	if err := put("IdempotencyRecord", account, "IDEMPOTENCY#"+key, record); err != nil {
		return nil, err
	}
	sort := input.ScheduledTime + "#" + id
	shards, _ := strconv.ParseInt(os.Getenv("WRITE_SHARDS"), 10, 64)
	shard, _ := rand.Int(rand.Reader, big.NewInt(shards))
	stored := item{
		"GSI1PK": text(shard.String()), "GSI1SK": text("SCHEDULED#" + sort), "Version": &types.AttributeValueMemberN{Value: "1"},
		"Data": text(data), "CreatedAt": text(now), "ChangedBy": &author,
	}
	if err := put("Payment", account, sort, stored); err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"paymentId": id, "accountId": account, "scheduledTime": input.ScheduledTime, "status": "SCHEDULED",
		"data": input.Data, "createdAt": now,
	})
	path := "/bank/accounts/" + url.PathEscape(account) + "/payments/" + id
	headers := map[string]string{"content-type": "application/json", "location": path}
	return map[string]any{"statusCode": 201, "headers": headers, "body": string(body), "isBase64Encoded": false}, err
}

func isID(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsRune(id, '#') && strings.IndexFunc(id, unicode.IsControl) < 0
}

func listed(claim, value string) bool {
	for _, one := range strings.Fields(strings.Trim(claim, "[]")) {
		if one == value {
			return true
		}
	}
	return false
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func uuid7(milliseconds int64) string {
	var id [16]byte
	_, _ = rand.Read(id[:])
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(milliseconds))
	copy(id[:6], stamp[2:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return hex.EncodeToString(id[:])
}

func fingerprint(parts ...string) string {
	digest := sha256.New()
	for _, part := range parts {
		_ = binary.Write(digest, binary.BigEndian, uint64(len(part)))
		digest.Write([]byte(part))
	}
	return base64.RawStdEncoding.EncodeToString(digest.Sum(nil))
}

func put(kind, account, sort string, attributes item) error {
	attributes["PK"], attributes["SK"], attributes["Type"] = text(account), text(sort), text(kind)
	_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &payments, Item: attributes, ConditionExpression: aws.String("attribute_not_exists(PK)"),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	})
	return err
}

func measure(id string, began time.Time) {
	fmt.Printf("{\"level\":\"INFO\",\"request_id\":%q,\"status\":201,\"cold_start\":%t}\n", id, cold)
	latency := float64(time.Since(began).Microseconds()) / 1000
	fmt.Printf("{\"Function\":%q,\"LatencyMs\":%g,\"ColdStarts\":%t}\n", os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), latency, cold)
	cold = false
}

// A minimal Runtime API client. Debian has no package of AWS's.
func main() {
	// Opens the connection before the first event. No item has this key.
	_, _ = client.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &payments, Key: item{"PK": text("#"), "SK": text("#")}})
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		next, err := http.Get(api + "next")
		if err != nil {
			log.Fatal(err)
		}
		began, id := time.Now(), next.Header.Get("lambda-runtime-aws-request-id")
		content, _ := io.ReadAll(next.Body)
		next.Body.Close()
		var asked event
		if err := json.Unmarshal(content, &asked); err != nil {
			log.Fatal(err)
		}
		answer, err := schedule(asked)
		if err != nil {
			log.Fatal(err)
		}
		measure(id, began)
		response, _ := json.Marshal(answer)
		posted, err := http.Post(api+id+"/response", "application/json", bytes.NewReader(response))
		if err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, posted.Body)
		posted.Body.Close()
	}
}
